"""The PostgreSQL back end, as the contract suites open and judge it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership
from bright_server.commit.encoding import envelope_key
from bright_server.commit.records import CommitKey
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.settings import Settings
from bright_server.stores.observed_commits import observed_key, record_of_observed
from bright_server.stores.postgresql.commit_rows import key_digest
from bright_server.stores.postgresql.connection import connected
from bright_server.stores.postgresql.store import PostgresqlBackend, opened
from bright_server.testing.under_test import Capabilities

_LOG = b"""
    SELECT o.envelope_key, c.channel_account_id, c.conversation_id, m.message_id
    FROM outbox AS o
    LEFT JOIN conversation AS c USING (conversation)
    LEFT JOIN message AS m ON m.conversation = o.conversation
        AND m.sequence BETWEEN o.first_sequence AND o.first_sequence + o.messages - 1
    ORDER BY o.first_position, m.sequence
"""
_REPLACE = b"UPDATE single_commit SET identity = %s WHERE key_digest = %s"
_FIND_FROZEN = b"SELECT frozen FROM single_commit WHERE key_digest = %s"
_REPLACE_FROZEN = b"UPDATE single_commit SET frozen = %s WHERE key_digest = %s"

_REFUSE = b"""
    CREATE FUNCTION refuse_writes() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$
"""
_EACH_TABLE = b"""
    DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tablename FROM pg_tables
            WHERE schemaname = current_schema() LOOP
            EXECUTE format('CREATE TRIGGER refuse_writes BEFORE INSERT OR UPDATE OR'
                ' DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_writes()',
                name);
        END LOOP;
    END $$
"""


class PostgresqlUnderTest:
    """A database of a running server."""

    can = Capabilities(several_group_writers=True)

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    def spec(self) -> str:
        return f"{__name__}:under_test {self.address}"

    def settings(self, **changes: object) -> Settings:
        return Settings.model_validate({"database": self.address, **changes})

    @asynccontextmanager
    async def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AsyncIterator[PostgresqlBackend]:
        async with opened(self.settings(**changes), clock, membership) as backend:
            yield backend

    async def published(self, backend: Backend) -> Sequence[str]:
        async with connected(self.settings()) as connection:
            rows = await (await connection.execute(_LOG)).fetchall()
        return [
            kept or _key_of(ConversationKey(account, name), message_id)
            for kept, account, name, message_id in rows
        ]

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        async with connected(self.settings()) as connection:
            done = await connection.execute(_REPLACE, (identity, key_digest(key)))
            assert done.rowcount == 1

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        digest = key_digest(key)
        async with connected(self.settings()) as connection:
            found = await (await connection.execute(_FIND_FROZEN, (digest,))).fetchall()
            [(kept,)] = found
            await connection.execute(_REPLACE_FROZEN, (frozen, digest))
        return bytes(kept)

    @asynccontextmanager
    async def unwritable(self, backend: Backend) -> AsyncIterator[None]:
        """Have each table refuse what is written to it, as a full disk would."""
        async with connected(self.settings()) as connection:
            await connection.execute(_REFUSE)
            await connection.execute(_EACH_TABLE)
        try:
            yield
        finally:
            async with connected(self.settings()) as connection:
                await connection.execute(b"DROP FUNCTION refuse_writes() CASCADE")


def under_test(argument: str) -> PostgresqlUnderTest:
    """Return the store at an address."""
    return PostgresqlUnderTest(argument)


def backend_of(backend: Backend) -> PostgresqlBackend:
    return cast("PostgresqlBackend", backend)


def _key_of(conversation: ConversationKey, message_id: str) -> str:
    shown = ObservedMessage(message_id, "", "", 0, "", None, None, None, None, None)
    record = record_of_observed(conversation, shown, 0)
    return envelope_key(observed_key(conversation, message_id), record)
