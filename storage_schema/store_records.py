"""An object store's records: storing, deleting and clearing, each with its way back.

Each change appends what undoes it to the transaction's undo log, so that aborting costs
what the transaction did and nothing more. Nothing here knows of requests or handles.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

from storage_schema.clone import Stored
from storage_schema.errors import ConstraintError
from storage_schema.index_records import Entries, IndexRecords, split
from storage_schema.key_decoding import decode
from storage_schema.key_generator import KeyGenerator
from storage_schema.key_paths import KeyPath, key_extractor
from storage_schema.key_ranges import Span
from storage_schema.ordered import Ordered

UndoLog: TypeAlias = list[tuple[Callable[..., object], *tuple[Any, ...]]]
"""What takes back each change, oldest first: a function and its arguments."""


class StoreRecords:
    """One object store as it is stored: definition, records, generator, indexes."""

    __slots__ = (
        "extract_key",
        "generator",
        "has_unique",
        "indexes",
        "is_deleted",
        "key_path",
        "keys",
        "live",
        "name",
        "records",
    )

    def __init__(
        self, name: str, key_path: KeyPath | None, generator: KeyGenerator | None
    ) -> None:
        self.name = name
        self.key_path = key_path
        self.generator = generator
        self.is_deleted = False
        self.records: dict[bytes, Stored] = {}
        self.keys = Ordered()
        self.indexes: dict[str, IndexRecords] = {}
        self.live: list[IndexRecords] = []  # those that are filled and kept up to date
        self.has_unique = False
        self.extract_key = key_extractor(key_path or "")

    def add(self, key: bytes, stored: Stored, undo: UndoLog) -> bytes:
        """As ``put``; raises ``ConstraintError`` also for a key that is taken."""
        if key in self.records:
            raise ConstraintError(
                f"{self.name!r} has a record under {decode(key)!r} already"
            )
        return self.put(key, stored, undo)

    def put(self, key: bytes, stored: Stored, undo: UndoLog) -> bytes:
        """Object store storage operation; gives the key back.

        Raises ``ConstraintError``, changing nothing.
        """
        records, live, value = self.records, self.live, stored[0]
        old = records.get(key)
        if old is None and not self.has_unique:
            records[key] = stored
            self.keys.add(key)
            for index in live:
                entries = index.entries_for(value, key)
                if entries:  # as ``give`` does, without its call
                    index.owned[key] = entries
                    add = index.entries.add
                    for entry in entries:
                        add(entry)
            undo.append((self._take_out, key, live))
            return key
        fresh = [index.entries_for(value, key) for index in live]
        for index, entries in zip(live, fresh, strict=True):
            if index.unique:
                self._check_unique(index, entries)
        records[key] = stored
        if old is None:
            self.keys.add(key)
            for index, entries in zip(live, fresh, strict=True):
                index.give(key, entries)
            undo.append((self._take_out, key, live))
            return key
        former = [
            index.replace(key, entries)
            for index, entries in zip(live, fresh, strict=True)
        ]
        undo.append((self._put_back, key, old, live, former))
        return key

    def _check_unique(self, index: IndexRecords, entries: Entries) -> None:
        for entry in entries:
            if index.is_taken(entry):
                raise ConstraintError(
                    f"unique index {index.name!r} of {self.name!r} has that key already"
                )

    def follow(self, key: object, undo: UndoLog) -> None:
        """Keep the generator, if there is one, ahead of a stored key."""
        if self.generator is not None:
            before = self.generator.current
            self.generator.follow(key)
            if self.generator.current != before:
                undo.append((setattr, self.generator, "current", before))

    def delete(self, span: Span, undo: UndoLog) -> None:
        """Delete records from an object store."""
        for key in self.keys.between(*span):
            self.keys.remove(key)
            old = self.records.pop(key)
            former = [index.replace(key, ()) for index in self.live]
            undo.append((self._put_back, key, old, self.live, former))

    def clear(self, undo: UndoLog) -> None:
        """Clear an object store; the key generator stays where it is."""
        undo.append((self._restore, self.records, self.keys))
        self.records, self.keys = {}, Ordered()
        for index in self.live:
            undo.append((index.restore, index.empty()))

    def fill(self, index: IndexRecords, undo: UndoLog) -> None:
        """Fill a new index with what is stored; raises ``ConstraintError``."""
        entries: list[bytes] = []
        # As in Chromium, a store deleted by now is not read, so nothing can fail.
        records = {} if self.is_deleted else self.records
        for key, (value, _) in records.items():
            found = index.entries_for(value, key)
            if found:
                index.owned[key] = found
                entries += found
        entries.sort()
        index.entries = Ordered(entries)
        if index.unique and _has_twins(entries):
            raise ConstraintError(
                f"unique index {index.name!r} cannot be made: records of {self.name!r} "
                "share a key"
            )
        self._keep([*self.live, index], undo)

    def drop(self, index: IndexRecords, undo: UndoLog) -> None:
        """Stop keeping an index up to date."""
        self._keep([known for known in self.live if known is not index], undo)

    def _keep(self, live: list[IndexRecords], undo: UndoLog) -> None:
        """Keep these indexes up to date from now on."""
        undo.append((self._set_live, self.live))
        self._set_live(live)

    def _set_live(self, live: list[IndexRecords]) -> None:
        self.live = live
        self.has_unique = any(index.unique for index in live)

    def _take_out(self, key: bytes, live: list[IndexRecords]) -> None:
        del self.records[key]
        self.keys.remove(key)
        for index in live:
            index.replace(key, ())

    def _put_back(
        self,
        key: bytes,
        old: Stored,
        live: list[IndexRecords],
        former: list[Entries],
    ) -> None:
        if key not in self.records:
            self.keys.add(key)
        self.records[key] = old
        for index, entries in zip(live, former, strict=True):
            index.replace(key, entries)

    def _restore(self, records: dict[bytes, Stored], keys: Ordered) -> None:
        self.records, self.keys = records, keys


def _has_twins(entries: list[bytes]) -> bool:
    keys = [split(entry)[0] for entry in entries]
    return any(a == b for a, b in pairwise(keys))
