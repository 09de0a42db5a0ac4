"""Copies a whole store into another and proves that nothing was lost or doubled.

The copy goes on where it stands, however it was ended. After the last page both stores
are read whole and compared, kind by kind, before the copy may be opened as a store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Final, TypeAlias

from bright_server.commit.transfer import (
    COPIED_KINDS,
    CopiedCommit,
    CopiedLogEntry,
    CopiedMessage,
    CopiedRecord,
    CopyMark,
    StoreExport,
    StoreImport,
)
from bright_server.errors import CopyDiffers, CopyRefused
from bright_server.fanout.contract import LogPosition
from bright_server.wire.text import canonical_json

Told: TypeAlias = Callable[[str, str, int], None]
"""Is told what is done (`copied`, `compared`), of which kind, and how many by now."""
Kept: TypeAlias = Callable[[CopiedRecord], CopiedRecord]
"""See `StoreImport.kept`."""

_NO_PLACE: Final = LogPosition("", 0)
_ORDER: Final = tuple(COPIED_KINDS)
_MODULUS: Final = 1 << 256


@dataclass(frozen=True, slots=True)
class CopyReport:
    """A finished copy: the store's name, and how many records of each kind it has."""

    store_id: str
    records: Mapping[str, int]
    keeps_places: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """All records of a kind: their number, and a digest that knows no order."""

    count: int
    digest: int


async def copy_store(
    source: StoreExport, target: StoreImport, store_id: str, page_size: int, told: Told
) -> CopyReport:
    """Copy what is not copied yet, compare all of it, and finish the copy.

    Raises:
        CopyRefused: the target holds something else, or this copy, begun under the
            source's name although it is now to have one of its own, or otherwise.
        CopyDiffers: the stores are not equal; the copy stays unfinished.
        MessageStoreError: a store failed; the same call goes on later.
    """
    mark = await target.begin(source.facts, store_id)
    _refuse_other_name(mark, store_id)
    while mark.kind is not None:
        page = await source.page(mark.kind, mark.cursor, page_size)
        kind = mark.kind
        count = mark.loaded.get(kind, 0) + len(page.records)
        mark = replace(
            mark,
            kind=kind if page.cursor is not None else _after(kind),
            cursor=page.cursor,
            loaded={**mark.loaded, kind: count},
        )
        await target.load(page.records, mark)
        told("copied", kind, count)
    compared = _compared(source, target, target.kept, page_size, told)
    records, different = await compared
    if different:
        raise CopyDiffers(mark.source.store_id, ", ".join(different))
    await target.finish(mark)
    return CopyReport(mark.store_id, records, _keeps_places(source, target))


async def finished_before(
    source: StoreExport,
    there: StoreExport,
    kept: Kept,
    page_size: int,
    told: Told,
    *,
    is_moved: bool,
) -> CopyReport | None:
    """Return the report of a copy of this source that was finished, and is as it was.

    None: it is none, or something was written since, here or there. With `is_moved` it
    has the source's name, else one of its own. A store that is the source itself, seen
    at another place, is equal as well: nothing tells here.

    Raises:
        MessageStoreError: a store failed.
    """
    one, other = source.facts, there.facts
    if (one.store_id == other.store_id) != is_moved or (
        one.created_at_ms != other.created_at_ms
    ):
        return None
    records, different = await _compared(source, there, kept, page_size, told)
    if different:
        return None
    return CopyReport(other.store_id, records, _keeps_places(source, there))


def _refuse_other_name(mark: CopyMark, store_id: str) -> None:
    is_moved = mark.store_id == mark.source.store_id
    if is_moved != (store_id == mark.source.store_id):
        began = "without --new-id" if is_moved else "with --new-id"
        raise CopyRefused(
            f"store {mark.store_id}",
            f"its copy was begun {began}: go on with it as it was begun, or remove it",
        )


def _after(kind: str) -> str | None:
    following = _ORDER.index(kind) + 1
    return _ORDER[following] if following < len(_ORDER) else None


async def _compared(
    source: StoreExport,
    target: StoreExport,
    kept_there: Kept,
    page_size: int,
    told: Told,
) -> tuple[dict[str, int], list[str]]:
    keeps_places = _keeps_places(source, target)

    def kept(record: CopiedRecord) -> CopiedRecord:
        record = kept_there(record)
        return record if keeps_places else _without_place(record)

    counts = {}
    different = []
    for kind in _ORDER:
        here = await summary(source, kind, page_size, kept)
        there = await summary(target, kind, page_size, kept)
        told("compared", kind, there.count)
        counts[kind] = there.count
        if here != there:
            different.append(f"{kind} ({here.count} there, {there.count} here)")
    return counts, different


def _keeps_places(source: StoreExport, target: StoreExport) -> bool:
    return source.facts.log_layout == target.facts.log_layout


async def summary(
    store: StoreExport,
    kind: str,
    page_size: int,
    kept: Kept,
) -> Summary:
    """Read all records of a kind; equal records in any order have equal summaries.

    The digests of the records are added up, for no two back ends have one order.
    """
    count = digest = 0
    cursor: str | None = None
    while True:
        page = await store.page(kind, cursor, page_size)
        count += len(page.records)
        for record in page.records:
            digest = (digest + _digest(kept(record))) % _MODULUS
        cursor = page.cursor
        if cursor is None:
            return Summary(count, digest)


def _digest(record: CopiedRecord) -> int:
    text = canonical_json(_plain(asdict(record)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, IntEnum):
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _without_place(record: CopiedRecord) -> CopiedRecord:
    if isinstance(record, CopiedMessage | CopiedLogEntry):
        return replace(record, position=_NO_PLACE)
    if isinstance(record, CopiedCommit) and record.publication is not None:
        return replace(record, publication=_NO_PLACE)
    return record
