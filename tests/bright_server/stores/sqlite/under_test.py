"""The embedded store for the contract suites: one file, opened again and again."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership
from bright_server.commit.encoding import envelope_key
from bright_server.commit.records import CommitKey
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.settings import Settings
from bright_server.stores.observed_commits import observed_key, record_of_observed
from bright_server.stores.sqlite.store import SqliteStore, opened
from bright_server.testing.under_test import Capabilities

_LOG = """
    SELECT e.envelope_key, c.channel_account_id, c.conversation_id, m.message_id
    FROM outbox AS o
    JOIN message AS m ON m.position = o.message
    JOIN conversation AS c USING (conversation)
    LEFT JOIN outbox_envelope AS e ON e.position = o.position
    ORDER BY o.position
"""
_FIND_FROZEN = """
    SELECT number, frozen FROM single_commit JOIN commit_intent USING (number)
    WHERE origin = ? AND tenant = ? AND sender = ? AND client_message_id = ?
"""
_REPLACE_FROZEN = "UPDATE commit_intent SET frozen = ? WHERE number = ?"

_TABLES = """
    SELECT name FROM sqlite_schema
    WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%VIRTUAL%'
"""
_REFUSE = """
    CREATE TRIGGER {0} BEFORE {1} ON {2}
    BEGIN SELECT raise(ABORT, 'database or disk is full'); END
"""


class SqliteUnderTest:
    """See `StoreUnderTest`."""

    can = Capabilities(several_group_writers=True)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "bright.db"

    @property
    def spec(self) -> str:
        return f"{__name__}:under_test {self.folder}"

    def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AbstractAsyncContextManager[SqliteStore]:
        given: dict[str, Any] = {"database": self.database, **changes}
        settings = Settings(**given)
        return opened(settings, clock, membership)

    async def published(self, backend: Backend) -> list[str]:
        with closing(sqlite3.connect(self.database)) as database:
            rows = database.execute(_LOG).fetchall()
        return [
            kept or _key_of(ConversationKey(account, conversation), message_id)
            for kept, account, conversation, message_id in rows
        ]

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        columns = (key.origin, key.tenant, key.sender, key.client_message_id)
        with closing(sqlite3.connect(self.database, timeout=10)) as database, database:
            done = database.execute(
                "UPDATE single_commit SET identity = ? WHERE origin = ? AND tenant = ?"
                " AND sender = ? AND client_message_id = ?",
                (identity, *columns),
            )
            assert done.rowcount == 1

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        columns = (key.origin, key.tenant, key.sender, key.client_message_id)
        with closing(sqlite3.connect(self.database, timeout=10)) as database, database:
            [(number, kept)] = database.execute(_FIND_FROZEN, columns).fetchall()
            database.execute(_REPLACE_FROZEN, (frozen, number))
            return bytes(kept)

    @asynccontextmanager
    async def unwritable(self, backend: Backend) -> AsyncIterator[None]:
        """Have each table refuse what is written to it, as a full disk would."""
        with closing(sqlite3.connect(self.database, timeout=10)) as database:
            tables = [name for (name,) in database.execute(_TABLES)]
            triggers = [
                (f"no_{what}_{table}", what, table)
                for table in tables
                for what in ("INSERT", "UPDATE", "DELETE")
            ]
            for trigger in triggers:
                database.execute(_REFUSE.format(*trigger))
            try:
                yield
            finally:
                for name, _, _ in triggers:
                    database.execute(f"DROP TRIGGER {name}")


def under_test(argument: str) -> SqliteUnderTest:
    """Return the store in a folder."""
    return SqliteUnderTest(Path(argument))


def _key_of(conversation: ConversationKey, message_id: str) -> str:
    shown = ObservedMessage(message_id, "", "", 0, "", None, None, None, None, None)
    record = record_of_observed(conversation, shown, 0)
    return envelope_key(observed_key(conversation, message_id), record)
