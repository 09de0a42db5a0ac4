"""A SQLite store that another one is copied into, page by page.

A page and the mark of how far the copy is are one transaction, so a page is never there
twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from bright_server.clock import Clock
from bright_server.commit.encoding import encode_frozen
from bright_server.commit.records import CommitState
from bright_server.commit.transfer import (
    COPIED_KINDS,
    ONE_PARTITION,
    CopiedBinding,
    CopiedCommit,
    CopiedInConversation,
    CopiedLogEntry,
    CopiedMessage,
    CopiedPage,
    CopiedRecord,
    CopyMark,
    StoreFacts,
    begun_otherwise,
)
from bright_server.errors import CopyRefused, SchemaRefused
from bright_server.fanout.contract import LogPosition
from bright_server.logs.sqlite import PARTITION
from bright_server.logs.sqlite import SQL as LOG_SQL
from bright_server.stores.copied_rows import (
    LOADED_BY_SCOPE,
    envelope_key_of,
    mark_of,
    mark_text,
    row_in_conversation,
    row_of_binding,
    row_of_message,
    statement,
)
from bright_server.stores.sqlite import schema
from bright_server.stores.sqlite.commit_rows import CommitRow, add_record
from bright_server.stores.sqlite.connection import StoreConnection, translated
from bright_server.stores.sqlite.exporting import SQL, SqliteExport
from bright_server.stores.sqlite.queries import SQL as STORE_SQL

T = TypeVar("T")
Load: TypeAlias = Callable[[sqlite3.Connection, Any], None]


class SqliteImport:
    """See `StoreImport`; it does not own its connection."""

    def __init__(self, connection: StoreConnection, path: Path, clock: Clock) -> None:
        self._connection = connection
        self._path = path
        self._clock = clock
        self._facts = StoreFacts("", 0)

    @property
    def facts(self) -> StoreFacts:
        """See `StoreExport.facts`."""
        return self._facts

    async def begin(self, source: StoreFacts, store_id: str) -> CopyMark:
        """See `StoreImport.begin`."""
        begin = partial(_begin, path=self._path, source=source, store_id=store_id)
        with translated(f"begin a copy in {self._path}"):
            mark = await self._connection.do(partial(_transacted, work=begin))
        self._facts = StoreFacts(mark.store_id, source.created_at_ms)
        return mark

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        """See `StoreImport.load`."""
        load = partial(_load, path=self._path, records=records, mark=mark)
        with translated(f"copy into {self._path}"):
            await self._connection.do(partial(_transacted, work=load))

    def kept(self, record: CopiedRecord) -> CopiedRecord:
        """See `StoreImport.kept`: all of it is."""
        return record

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        """See `StoreExport.page`."""
        export = SqliteExport(self._connection, self._facts)
        return await export.page(kind, cursor, limit)

    async def finish(self, mark: CopyMark) -> None:
        """See `StoreImport.finish`."""
        finish = partial(_finish, mark=mark)
        with translated(f"finish the copy in {self._path}"):
            await self._connection.do(partial(_transacted, work=finish))


def _transacted(
    database: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]
) -> T:
    database.execute("BEGIN IMMEDIATE")
    try:
        done = work(database)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    return done


def _begin(
    database: sqlite3.Connection, path: Path, source: StoreFacts, store_id: str
) -> CopyMark:
    tables = {name for (name,) in database.execute(SQL["tables"])}
    if schema.UNFINISHED_COPY in tables:
        return _begun(database, path, source)
    if tables:
        raise CopyRefused(str(path), "it holds something already: choose another")
    schema.step_all(database, source.created_at_ms)
    first, *_ = COPIED_KINDS
    mark = CopyMark(source, store_id, first, None)
    database.execute(SQL["make_mark"])
    database.execute(SQL["make_envelope_index"])
    database.execute(SQL["add_mark"], (mark_text(mark),))
    return mark


def _begun(database: sqlite3.Connection, path: Path, source: StoreFacts) -> CopyMark:
    _, _, version = database.execute(SQL["facts_of_store"]).fetchone()
    if version != schema.SCHEMA_VERSION:
        raise SchemaRefused(
            path, "a copy was begun in it by another Bright: remove it, and copy again"
        )
    mark = _stored_mark(database)
    if mark.source != source:
        raise CopyRefused(
            str(path),
            f"{begun_otherwise(mark, source)}: finish that one, or remove the file",
        )
    return mark


def _load(
    database: sqlite3.Connection,
    path: Path,
    records: Sequence[CopiedRecord],
    mark: CopyMark,
) -> None:
    if _stored_mark(database) == mark:
        return  # this very page, whose answer was lost
    for record in records:
        try:
            _LOADERS[type(record)](database, record)
        except sqlite3.IntegrityError as error:
            raise CopyRefused(str(path), _clash_of(record, error)) from error
    database.execute(SQL["move_mark"], (mark_text(mark),))


def _clash_of(record: CopiedRecord, error: sqlite3.IntegrityError) -> str:
    if isinstance(record, CopiedMessage):
        key, message_id = record.conversation, record.message.message_id
    elif isinstance(record, CopiedCommit):
        key, message_id = (
            record.coordinates.conversation,
            record.coordinates.message_id,
        )
    else:
        return f"it cannot hold all of it: {error}"
    return (
        f"message {message_id!a} of conversation {key.conversation_id!a} (account"
        f" {key.channel_account_id!a}) is there twice, as one that was sent and as one"
        " that a page showed; in a SQLite store an id is given once in a conversation."
        " Copy into PostgreSQL or Redis instead"
    )


def _stored_mark(database: sqlite3.Connection) -> CopyMark:
    (text,) = database.execute(SQL["read_mark"]).fetchone()
    return mark_of(text)


def _finish(database: sqlite3.Connection, mark: CopyMark) -> None:
    database.execute(SQL["drop_mark"])
    database.execute(SQL["drop_envelope_index"])
    database.execute(SQL["name_store"], (mark.store_id, mark.source.created_at_ms))


# One record of each kind.


def _binding(database: sqlite3.Connection, record: CopiedBinding) -> None:
    database.execute(SQL["load_bindings"], row_of_binding(record))


def _message(database: sqlite3.Connection, record: CopiedMessage) -> None:
    place = _place(database, record.position)
    database.execute(SQL["load_messages"], (*row_of_message(record), place))
    database.execute(SQL["load_outbox"], (place,))


def _log_entry(database: sqlite3.Connection, record: CopiedLogEntry) -> None:
    place = _place(database, record.position)
    database.execute(SQL["load_outbox"], (place,))
    database.execute(SQL["load_log"], (place, record.key, record.body))


def _commit(database: sqlite3.Connection, record: CopiedCommit) -> None:
    conversation = record.coordinates.conversation
    frozen = None
    if record.state < CommitState.COMMITTED:
        assert record.record is not None  # noqa: S101 - an open one has all of it
        assert record.delivery is not None  # noqa: S101
        frozen = encode_frozen(record.key, record.record, record.delivery)
    place = _place_of_commit(database, record)
    is_published = record.publication is not None
    ((number, ref),) = database.execute(
        SQL["load_commits"],
        (
            conversation.channel_account_id,
            conversation.conversation_id,
            *astuple(record.key),
            record.identity,
            record.coordinates.message_id,
            record.coordinates.sequence,
            int(record.state),
            record.created_at_ms,
            PARTITION if is_published else None,
            place if is_published else None,
        ),
    ).fetchall()
    if frozen is not None:
        database.execute(STORE_SQL["add_intent"], (number, frozen))
    if record.record is None or record.state < CommitState.RECORDED:
        return
    row = CommitRow(
        number, record.key, record.identity, ref, record.coordinates, record.state,
        frozen, None,
    )  # fmt: skip
    add_record(database, row, record.record, record.created_at_ms)
    database.execute(SQL["set_state"], (int(record.state), number))
    if place is not None:
        database.execute(LOG_SQL["move_message"], (place, -number))
        database.execute(LOG_SQL["move_detail"], (place, -number))


def _place_of_commit(database: sqlite3.Connection, record: CopiedCommit) -> int | None:
    """Return where the log has a commit's envelope, whether the commit knows or not."""
    publication = record.publication
    if publication is not None and publication.partition == ONE_PARTITION:
        return publication.offset
    key = envelope_key_of(record)
    row = database.execute(SQL["place_of_envelope"], (key,)).fetchone()
    return None if row is None else int(row[0])


def _place(database: sqlite3.Connection, position: LogPosition) -> int:
    """Return a place in this log: the same one, or the next of another layout's."""
    if position.partition == ONE_PARTITION:
        return position.offset
    (last,) = database.execute(LOG_SQL["last_position"]).fetchone()
    return int(last) + 1


def _in_conversation(kind: str) -> Load:
    query = SQL[statement("load", kind)]

    def load(database: sqlite3.Connection, record: CopiedInConversation) -> None:
        database.execute(query, row_in_conversation(record))

    return load


_LOADERS: Final[dict[type[CopiedRecord], Load]] = {
    **{kind: _in_conversation(name) for name, kind in LOADED_BY_SCOPE.items()},
    CopiedBinding: _binding,
    CopiedMessage: _message,
    CopiedLogEntry: _log_entry,
    CopiedCommit: _commit,
}
