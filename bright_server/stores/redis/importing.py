"""A store in Redis that another one is copied into, page by page.

A page and the mark of how far the copy is are one transaction of the server, so a page
is never there twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, cast

from redis.exceptions import ResponseError

from bright_server.commit.transfer import (
    COPIED_KINDS,
    CopiedCommit,
    CopiedConversation,
    CopiedLogEntry,
    CopiedMessage,
    CopiedPage,
    CopiedRecord,
    CopyMark,
    StoreFacts,
)
from bright_server.errors import CopyRefused, SchemaRefused, StoreUnavailable
from bright_server.fanout.contract import LogPosition
from bright_server.settings import Settings
from bright_server.stores.copied_rows import envelope_key_of, mark_of, mark_text
from bright_server.stores.redis import schema
from bright_server.stores.redis.answers import unavailable
from bright_server.stores.redis.connection import Decide, RedisLink
from bright_server.stores.redis.conveyor import Command, Reply
from bright_server.stores.redis.exporting import RedisExport
from bright_server.stores.redis.keys import COPY, STORE, Layout, ShardKeys
from bright_server.stores.redis.loading import (
    binding_commands,
    commit_commands,
    ledger_commands,
    log_commands,
)
from bright_server.stores.redis.log_access import conversation_of
from bright_server.wire.text import canonical_json, parse_json

_DOING: Final = "copy a page"


@dataclass(frozen=True, slots=True)
class _Begun:
    """What stands in `bright:copy`."""

    version: int
    shards: int
    mark: CopyMark

    def text(self) -> bytes:
        return canonical_json(
            [self.version, self.shards, mark_text(self.mark)]
        ).encode()


class RedisImport:
    """See `StoreImport`; it does not own its link."""

    def __init__(self, link: RedisLink, settings: Settings) -> None:
        self._link = link
        self._settings = settings
        self._where = str(settings.database)
        self._layout = Layout(settings.redis_shards)
        self._facts = StoreFacts("", 0)
        self._export = RedisExport(link, self._layout, self._facts)
        self._keeps_places = False

    @property
    def facts(self) -> StoreFacts:
        """See `StoreExport.facts`."""
        return self._facts

    async def begin(self, source: StoreFacts, store_id: str) -> CopyMark:
        """See `StoreImport.begin`; shards are those of the source, if it has any."""
        first, *_ = COPIED_KINDS
        shards = shards_of(source.log_layout) or self._settings.redis_shards
        new = _Begun(
            schema.SCHEMA_VERSION, shards, CopyMark(source, store_id, first, None)
        )
        (is_store,) = await self._link.talk(f"open {self._where}", [("EXISTS", STORE)])
        if is_store:
            raise CopyRefused(
                self._where, "it holds something already: choose another database"
            )
        await self._link.run("begin a copy", ("SET", COPY, new.text(), "NX"))
        begun = _begun(await self._link.run("begin a copy", ("GET", COPY)), self._where)
        if begun.mark.source != source:
            raise CopyRefused(
                self._where,
                f"a copy of another store ({begun.mark.source.store_id}) was begun"
                " there: finish that one, or empty the database",
            )
        self._layout = Layout(begun.shards)
        layout = log_layout(begun.shards)
        self._facts = StoreFacts(begun.mark.store_id, source.created_at_ms, layout)
        self._export = RedisExport(self._link, self._layout, self._facts)
        self._keeps_places = source.log_layout == layout
        return begun.mark

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        """See `StoreImport.load`."""
        commands = await self._commands(records) if records else []

        def decide(found: Reply) -> Sequence[Command]:
            begun = _begun(found, self._where)
            if begun.mark == mark:
                return []  # this very page, whose answer was lost
            return [*commands, ("SET", COPY, replace(begun, mark=mark).text())]

        await self._transact(_DOING, decide)

    def kept(self, record: CopiedRecord) -> CopiedRecord:
        """See `StoreImport.kept`: when a message was made is known with its record."""
        if isinstance(record, CopiedCommit) and record.record is None:
            return replace(record, created_at_ms=0)
        return record

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        """See `StoreExport.page`."""
        return await self._export.page(kind, cursor, limit)

    async def finish(self, mark: CopyMark) -> None:
        """See `StoreImport.finish`."""
        store = (
            "HSET", STORE, "id", mark.store_id, "version", schema.SCHEMA_VERSION,
            "oldest", schema.OLDEST_COMPATIBLE_VERSION, "shards", self._layout.shards,
            "made", mark.source.created_at_ms,
        )  # fmt: skip
        await self._transact("finish the copy", lambda _: [store, ("DEL", COPY)])

    async def _transact(self, doing: str, decide: Decide) -> None:
        replies = await self._link.transact(doing, COPY, ("GET", COPY), decide)
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise unavailable(doing, reply) from reply

    async def _commands(self, records: Sequence[CopiedRecord]) -> list[Command]:
        first = records[0]
        if isinstance(first, CopiedMessage | CopiedLogEntry):
            return await self._load_log(
                cast("Sequence[CopiedMessage | CopiedLogEntry]", records)
            )
        if isinstance(first, CopiedCommit):
            return await self._load_commits(cast("Sequence[CopiedCommit]", records))
        if isinstance(first, COPIED_KINDS["bindings"]):
            return [each for record in records for each in binding_commands(record)]
        counts = await self._counts(records)
        commands: list[Command] = []
        for record in records:
            commands += ledger_commands(self._layout, record, counts)
        return commands

    async def _counts(self, records: Sequence[CopiedRecord]) -> Counter[str]:
        """Return how many members there are of what is numbered by its members."""
        counts: Counter[str] = Counter()
        for record in records:
            if isinstance(record, CopiedConversation):
                shard = self._layout.conversation(record.conversation).shard
                counts[shard.conversations] = 0
        names = sorted(counts)
        if names:
            found = await self._link.talk(_DOING, [("ZCARD", each) for each in names])
            counts.update(dict(zip(names, found, strict=True)))
        return counts

    async def _load_log(
        self, records: Sequence[CopiedMessage | CopiedLogEntry]
    ) -> list[Command]:
        shards = [self._shard_of(record) for record in records]
        names = sorted({shard.log_last for shard in shards})
        found = await self._link.talk(_DOING, [("GET", each) for each in names])
        last = {
            name: int(number or 0) for name, number in zip(names, found, strict=True)
        }
        placed = []
        for shard, record in zip(shards, records, strict=True):
            number = record.position.offset
            if not self._keeps_places:
                number = last[shard.log_last] + 1
            last[shard.log_last] = number
            position = LogPosition(shard.partition, number)
            placed.append(replace(record, position=position))
        commands: list[Command] = []
        for shard, group in groupby(
            zip(shards, placed, strict=True), key=lambda pair: pair[0]
        ):
            commands += log_commands(self._layout, shard, [each for _, each in group])
        return [*commands, *(("SET", name, last[name]) for name in names)]

    def _shard_of(self, record: CopiedMessage | CopiedLogEntry) -> ShardKeys:
        if isinstance(record, CopiedMessage):
            return self._layout.conversation(record.conversation).shard
        conversation = conversation_of(record.body)
        if conversation is None:
            return self._layout.log_of(record.key)
        return self._layout.conversation(conversation).shard

    async def _load_commits(self, records: Sequence[CopiedCommit]) -> list[Command]:
        commands: list[Command] = []
        for record in records:
            shard = self._layout.conversation(record.coordinates.conversation).shard
            publication = record.publication
            if publication is not None and not self._keeps_places:
                key = envelope_key_of(record)
                number = await self._link.run(_DOING, ("HGET", shard.log_keys, key))
                if number is None:
                    raise StoreUnavailable(_DOING, "a commit's envelope is not there")
                publication = LogPosition(shard.partition, int(number))
            record = replace(record, publication=publication)  # noqa: PLW2901
            commands += commit_commands(self._layout, record)
        return commands


def log_layout(shards: int) -> str:
    """Return what a log of so many shards is called; see `StoreFacts`."""
    return f"shards:{shards}"


def shards_of(layout: str) -> int | None:
    """Return of how many shards a log is; None: it is another back end's."""
    name, _, number = layout.partition(":")
    return int(number) if name == "shards" else None


def _begun(reply: Reply, where: str) -> _Begun:
    if reply is None:
        raise StoreUnavailable(
            _DOING, "its mark is gone: somebody else has finished it"
        )
    version, shards, mark = cast("list[Any]", parse_json(reply.decode()))
    if version != schema.SCHEMA_VERSION:
        raise SchemaRefused(
            where, "a copy was begun in it by another Bright: empty it, and copy again"
        )
    return _Begun(version, shards, mark_of(mark))
