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
    begun_otherwise,
)
from bright_server.errors import (
    CopyRefused,
    SchemaRefused,
    StoreInUse,
    StoreUnavailable,
)
from bright_server.fanout.contract import LogPosition
from bright_server.settings import Settings
from bright_server.stores.copied_rows import envelope_key_of, mark_of, mark_text
from bright_server.stores.redis import schema
from bright_server.stores.redis.answers import unavailable
from bright_server.stores.redis.connection import Decide, RedisLink
from bright_server.stores.redis.conveyor import Command, Reply
from bright_server.stores.redis.exporting import RedisExport
from bright_server.stores.redis.keys import COPY, OURS, STORE, Layout, ShardKeys
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
        self._mark: CopyMark | None = None

    @property
    def facts(self) -> StoreFacts:
        """See `StoreExport.facts`."""
        return self._facts

    async def begin(self, source: StoreFacts, store_id: str) -> CopyMark:
        """See `StoreImport.begin`; shards are those of the source, if it has any."""
        await self._refuse_remains()
        first, *_ = COPIED_KINDS
        shards = shards_of(source.log_layout) or self._settings.redis_shards
        new = _Begun(
            schema.SCHEMA_VERSION, shards, CopyMark(source, store_id, first, None)
        )

        def decide(is_store: Reply) -> Sequence[Command]:
            if is_store:
                raise self._occupied()
            return [("SET", COPY, new.text(), "NX"), ("GET", COPY)]

        # Watched: a server that starts at this very moment makes its own store here.
        replies = await self._link.transact(
            "begin a copy", STORE, ("EXISTS", STORE), decide
        )
        begun = _begun(_checked(replies)[1], self._where)
        if begun.mark.source != source:
            raise CopyRefused(
                self._where,
                f"{begun_otherwise(begun.mark, source)}: finish that one, or empty the"
                " database",
            )
        self._layout = Layout(begun.shards)
        layout = log_layout(begun.shards)
        self._facts = StoreFacts(begun.mark.store_id, source.created_at_ms, layout)
        self._export = RedisExport(self._link, self._layout, self._facts)
        self._keeps_places = source.log_layout == layout
        self._mark = begun.mark
        return begun.mark

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        """See `StoreImport.load`."""
        try:
            commands = await self._commands(records) if records else []
        except OverflowError as error:
            raise StoreUnavailable(
                _DOING, f"{error}: Redis cannot keep this store"
            ) from error

        def decide(found: Reply) -> Sequence[Command]:
            begun = _begun(found, self._where)
            if begun.mark == mark:
                return []  # this very page, whose answer was lost
            self._refuse_another(begun)
            return [*commands, ("SET", COPY, replace(begun, mark=mark).text())]

        await self._transact(_DOING, decide)
        self._mark = mark

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

        def decide(found: Reply) -> Sequence[Command]:
            self._refuse_another(_begun(found, self._where))
            return [store, ("DEL", COPY)]

        await self._transact("finish the copy", decide)

    async def _transact(self, doing: str, decide: Decide) -> None:
        _checked(await self._link.transact(doing, COPY, ("GET", COPY), decide))

    async def _refuse_remains(self) -> None:
        """Refuse a database with any keys and neither a store nor a copy."""
        doing = f"open {self._where}"
        known = await self._link.talk(doing, [("EXISTS", STORE), ("EXISTS", COPY)])
        if not any(known) and await schema.has_foreign_keys(self._link, doing):
            raise self._occupied()
        cursor: bytes | int = 0
        while not any(known):
            cursor, found = await self._link.run(
                doing, ("SCAN", cursor, "MATCH", OURS, "COUNT", 1_000), durable=False
            )
            if found:
                raise self._occupied()
            if int(cursor) == 0:
                return

    def _refuse_another(self, begun: _Begun) -> None:
        """Refuse to go on beside another copy that goes on with the same one."""
        if begun.mark != self._mark:
            raise StoreInUse(self._where, " (another copy)")

    def _occupied(self) -> CopyRefused:
        return CopyRefused(
            self._where, "it holds something already: choose another database"
        )

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
        shards = [
            self._layout.conversation(record.coordinates.conversation).shard
            for record in records
        ]
        numbers = await self._link.talk(
            _DOING,
            [
                ("HGET", shard.log_keys, envelope_key_of(record))
                for shard, record in zip(shards, records, strict=True)
            ],
        )
        commands: list[Command] = []
        for shard, record, number in zip(shards, records, numbers, strict=True):
            publication = record.publication
            if publication is not None and not self._keeps_places:
                if number is None:
                    raise StoreUnavailable(_DOING, "a commit's envelope is not there")
                publication = LogPosition(shard.partition, int(number))
            placed = replace(record, publication=publication)
            commands += commit_commands(self._layout, placed)
        return commands


def log_layout(shards: int) -> str:
    """Return what a log of so many shards is called; see `StoreFacts`."""
    return f"shards:{shards}"


def shards_of(layout: str) -> int | None:
    """Return of how many shards a log is; None: it is another back end's."""
    name, _, number = layout.partition(":")
    return int(number) if name == "shards" else None


def _checked(replies: Sequence[Reply]) -> Sequence[Reply]:
    for reply in replies:
        if isinstance(reply, ResponseError):
            raise unavailable(_DOING, reply) from reply
    return replies


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
