"""A store in PostgreSQL that another one is copied into, page by page.

A page and the mark of how far the copy is are one transaction, so a page is never there
twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

import psycopg

from bright_server.commit.encoding import encode_frozen
from bright_server.commit.records import CommitIntent, CommitState, FrozenDelivery
from bright_server.commit.transfer import (
    COPIED_KINDS,
    ONE_PARTITION,
    CopiedBinding,
    CopiedCommit,
    CopiedConversation,
    CopiedInConversation,
    CopiedLogEntry,
    CopiedMessage,
    CopiedPage,
    CopiedRecord,
    CopyMark,
    StoreFacts,
    begun_otherwise,
)
from bright_server.errors import CopyRefused, SchemaRefused, StoreUnavailable
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.stores.copied_rows import (
    LOADED_BY_SCOPE,
    Row,
    envelope_key_of,
    mark_of,
    mark_text,
    row_in_conversation,
    row_of_binding,
    row_of_message,
    statement,
)
from bright_server.stores.postgresql import schema
from bright_server.stores.postgresql.commit_rows import key_digest, message_row
from bright_server.stores.postgresql.connection import StoreConnection, worded
from bright_server.stores.postgresql.exporting import SQL, PostgresqlExport
from bright_server.stores.postgresql.queries import SQL as STORE_SQL


class PostgresqlImport:
    """See `StoreImport`; it does not own its connection."""

    def __init__(self, connection: StoreConnection, where: str) -> None:
        self._connection = connection
        self._where = where
        self._facts = StoreFacts("", 0)

    @property
    def facts(self) -> StoreFacts:
        """See `StoreExport.facts`."""
        return self._facts

    async def begin(self, source: StoreFacts, store_id: str) -> CopyMark:
        """See `StoreImport.begin`."""
        async with self._transaction("begin a copy"):
            mark = await self._begun(source, store_id)
        self._facts = StoreFacts(mark.store_id, source.created_at_ms)
        return mark

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        """See `StoreImport.load`."""
        async with self._transaction("copy a page"):
            if await self._mark() == mark:
                return  # this very page, whose answer was lost
            if records:
                await _Page(self._connection, records).load()
            await self._run("move_mark", mark_text(mark))

    def kept(self, record: CopiedRecord) -> CopiedRecord:
        """See `StoreImport.kept`: all of it is."""
        return record

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        """See `StoreExport.page`."""
        export = PostgresqlExport(self._connection, self._facts)
        return await export.page(kind, cursor, limit)

    async def finish(self, mark: CopyMark) -> None:
        """See `StoreImport.finish`."""
        async with self._transaction("finish the copy"):
            await self._run("bound_ids")
            await self._run("name_store", mark.store_id, mark.source.created_at_ms)
            await self._run("drop_mark")

    async def _begun(self, source: StoreFacts, store_id: str) -> CopyMark:
        tables = await schema.table_names(self._connection)
        if schema.UNFINISHED_COPY in tables:
            return await self._gone_on(source)
        if not tables:
            await schema.make_steps(self._connection, 0, source.created_at_ms)
        elif "store" not in tables or not await self._is_empty():
            raise CopyRefused(
                self._where, "it holds something already: choose another database"
            )
        first, *_ = COPIED_KINDS
        mark = CopyMark(source, store_id, first, None)
        await self._run("make_mark")
        await self._run("add_mark", mark_text(mark))
        return mark

    async def _gone_on(self, source: StoreFacts) -> CopyMark:
        ((_, _, version),) = await self._run("facts_of_store")
        if version != schema.SCHEMA_VERSION:
            raise SchemaRefused(
                self._where,
                "a copy was begun in it by another Bright: empty it, and copy again",
            )
        mark = await self._mark()
        if mark.source != source:
            raise CopyRefused(
                self._where,
                f"{begun_otherwise(mark, source)}: finish that one, or empty the"
                " database",
            )
        return mark

    async def _is_empty(self) -> bool:
        ((_, _, version),) = await self._run("facts_of_store")
        if version != schema.SCHEMA_VERSION:
            raise SchemaRefused(self._where, "run `bright migrate` on it first")
        ((is_empty,),) = await self._run("is_empty")
        return bool(is_empty)

    async def _mark(self) -> CopyMark:
        ((text,),) = await self._run("read_mark")
        return mark_of(text)

    async def _run(self, name: str, *parameters: object) -> list[Row]:
        found = await self._connection.execute(SQL[name], parameters)
        return await found.fetchall() if found.description else []

    @asynccontextmanager
    async def _transaction(self, doing: str) -> AsyncIterator[None]:
        try:
            async with self._connection.transaction():
                yield
        except psycopg.Error as error:
            raise StoreUnavailable(
                f"{doing} in {self._where}", worded(error)
            ) from error


class _Page:
    """One page of records of one kind, inside a transaction."""

    def __init__(self, connection: StoreConnection, records: Sequence[Any]) -> None:
        self._connection = connection
        self._records = records
        self._refs: dict[ConversationKey, int] = {}

    async def load(self) -> None:
        first = self._records[0]
        if isinstance(first, CopiedBinding):
            await self._many("load_bindings", map(row_of_binding, self._records))
        elif isinstance(first, CopiedMessage | CopiedLogEntry):
            await self._load_log()
        elif isinstance(first, CopiedCommit):
            await self._find_refs(
                {each.coordinates.conversation for each in self._records}
            )
            for record in self._records:
                await self._load_commit(record)
        elif isinstance(first, CopiedConversation):
            rows = map(row_in_conversation, self._records)
            await self._many("load_conversations", rows)
        else:
            await self._find_refs({each.conversation for each in self._records})
            (name,) = [
                name for name, kind in LOADED_BY_SCOPE.items() if kind is type(first)
            ]
            await self._many(statement("load", name), map(self._row, self._records))

    def _row(self, record: CopiedInConversation) -> Row:
        return (self._refs[record.conversation], *row_in_conversation(record)[2:])

    async def _load_log(self) -> None:
        places = await self._places([each.position for each in self._records])
        placed = list(zip(places, self._records, strict=True))
        messages = [each for each in placed if isinstance(each[1], CopiedMessage)]
        await self._find_refs({record.conversation for _, record in messages})
        cursor = self._connection.cursor()
        async with cursor, cursor.copy(SQL["load_messages"]) as copy:
            for _, record in messages:
                ref = self._refs[record.conversation]
                await copy.write_row((ref, *row_of_message(record)[2:]))
        runs = [
            (place, self._refs[record.conversation], record.sequence)
            for place, record in messages
        ]
        await self._many("load_runs", _joined(runs))
        envelopes = [
            (place, _digest(record.key), record.key, record.body)
            for place, record in placed
            if isinstance(record, CopiedLogEntry)
        ]
        await self._many("load_log", envelopes)

    async def _places(self, positions: Sequence[LogPosition]) -> list[int]:
        """Return places in this log: the same ones, or the next of another layout's."""
        if all(each.partition == ONE_PARTITION for each in positions):
            places = [each.offset for each in positions]
        else:
            ((last,),) = await self._run("last_position")
            places = list(range(last + 1, last + 1 + len(positions)))
        await self._run("end_log", max(places))
        return places

    async def _load_commit(self, record: CopiedCommit) -> None:
        ref = self._refs[record.coordinates.conversation]
        is_open = record.state < CommitState.COMMITTED
        delivery = record.delivery or FrozenDelivery()
        frozen = None
        if is_open:
            assert record.record is not None  # noqa: S101 - an open one has all of it
            frozen = encode_frozen(record.key, record.record, delivery)
            await self._run("count_open_commit", ref)
        place = await self._place_of(record)
        key = record.key
        await self._run(
            "load_commits",
            *(key_digest(key), ref, key.origin, key.tenant, key.sender),
            *(key.client_message_id, record.identity, record.coordinates.message_id),
            *(record.coordinates.sequence, int(record.state), record.created_at_ms),
            *(frozen, None if place is None else ONE_PARTITION, place),
        )
        if record.record is None or record.state < CommitState.RECORDED:
            return
        intent = CommitIntent(
            key, record.identity, record.coordinates, record.record, delivery,
            record.state,
        )  # fmt: skip
        await self._connection.execute(
            STORE_SQL["add_message"], message_row(ref, intent)
        )
        if not is_open:
            expires_at_ms = record.record.history_expires_at_ms
            sequence = record.coordinates.sequence
            shown = (record.created_at_ms, expires_at_ms, ref, sequence)
            await self._connection.execute(STORE_SQL["show_message"], shown)

    async def _place_of(self, record: CopiedCommit) -> int | None:
        publication = record.publication
        if publication is None or publication.partition == ONE_PARTITION:
            return None if publication is None else publication.offset
        digest = _digest(envelope_key_of(record))
        ((place,),) = await self._run("place_of_envelope", digest)
        return int(place)

    async def _find_refs(self, keys: set[ConversationKey]) -> None:
        accounts = [key.channel_account_id for key in keys]
        names = [key.conversation_id for key in keys]
        for account, name, ref in await self._run("find_refs", accounts, names):
            self._refs[ConversationKey(account, name)] = ref

    async def _many(self, name: str, rows: Iterable[Row]) -> None:
        async with self._connection.cursor() as cursor:
            await cursor.executemany(SQL[name], list(rows))

    async def _run(self, name: str, *parameters: object) -> list[Row]:
        found = await self._connection.execute(SQL[name], parameters)
        return await found.fetchall() if found.description else []


def _joined(places: Sequence[tuple[int, int, int]]) -> list[Row]:
    """Return runs of places whose conversation and sequences go on together."""

    def run_of(indexed: tuple[int, tuple[int, int, int]]) -> Row:
        index, (place, ref, sequence) = indexed
        return (place - index, ref, sequence - index)

    runs = []
    for _, members in groupby(enumerate(places), key=run_of):
        run = [each for _, each in members]
        place, ref, sequence = run[0]
        runs.append((place, len(run), ref, sequence))
    return runs


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
