"""An index's records: which entries a value gives, and the list they are kept in.

An entry is one byte string: the encoded index key, the encoded primary key and, last,
the length of the first in four bytes; so entries are in order of key, then primary key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from storage_schema.key_paths import KeyPath, Missing, compiled, evaluate
from storage_schema.keys import ARRAY, BEHIND, encode_valid, is_broken
from storage_schema.ordered import Ordered
from storage_schema.values import Array, JsValue

Entries: TypeAlias = tuple[bytes, ...]
EntriesFor: TypeAlias = Callable[[JsValue, bytes], Entries]

LENGTH_BYTES: Final = 4
_OPEN: Final = bytes([ARRAY])
_CLOSE: Final = b"\0"
_LENGTHS: Final = [length.to_bytes(LENGTH_BYTES, "big") for length in range(1024)]


def entry_of(key: bytes, primary: bytes) -> bytes:
    """The entry for an index key and a primary key."""
    length = len(key)
    if length < 1024:
        return key + primary + _LENGTHS[length]
    return key + primary + length.to_bytes(LENGTH_BYTES, "big")


def split(entry: bytes) -> tuple[bytes, bytes]:
    """The index key and the primary key of an entry."""
    length = int.from_bytes(entry[-LENGTH_BYTES:], "big")
    return entry[:length], entry[length:-LENGTH_BYTES]


def primary_keys(entries: Iterable[bytes]) -> list[bytes]:
    """The primary keys of entries."""
    number = int.from_bytes
    return [entry[number(entry[-4:], "big") : -4] for entry in entries]


class IndexRecords:
    """One index as it is stored: its definition, its entries, and who owns which.

    ``entries_for(value, primary)`` gives the entries of a value under a primary key.
    """

    __slots__ = (
        "entries",
        "entries_for",
        "is_deleted",
        "key_path",
        "multi_entry",
        "name",
        "owned",
        "unique",
    )

    def __init__(
        self,
        name: str,
        key_path: KeyPath,
        *,
        unique: bool,
        multi_entry: bool,
        made: KeyPath | None = None,
    ) -> None:
        """``made``: the key path of a store that makes keys.

        A made key counts also where the value could not hold it (a Date, a Map).
        """
        self.name = name
        self.key_path = key_path
        self.unique = unique
        self.multi_entry = multi_entry
        self.is_deleted = False
        self.entries = Ordered()
        self.owned: dict[bytes, Entries] = {}
        several = multi_entry and isinstance(key_path, str)
        entries_for = _of_members(str(key_path)) if several else _of_one(key_path)
        if made is not None and made == key_path:
            entries_for = _of_made_key(entries_for)
        elif isinstance(made, str) and isinstance(key_path, tuple) and made in key_path:
            entries_for = _of_parts(key_path, made)
        self.entries_for = entries_for

    def is_taken(self, entry: bytes) -> bool:
        """Whether another record has this entry's index key."""
        key, _ = split(entry)
        stop = key + BEHIND
        first = self.entries.first(key, stop)
        return first is not None and (
            first != entry or self.entries.count(key, stop) > 1
        )

    def replace(self, primary: bytes, entries: Entries) -> Entries:
        """Give a primary key these entries; gives back those that it had."""
        owned = self.owned
        old = owned.pop(primary, ())
        if old:
            if old == entries:
                owned[primary] = old
                return old
            for entry in old:
                self.entries.remove(entry)
        self.give(primary, entries)
        return old

    def give(self, primary: bytes, entries: Entries) -> None:
        """Give these entries to a primary key that has none."""
        if entries:
            self.owned[primary] = entries
            add = self.entries.add
            for entry in entries:
                add(entry)

    def empty(self) -> tuple[Ordered, dict[bytes, Entries]]:
        """Drop all entries; gives back what ``restore`` takes."""
        kept = self.entries, self.owned
        self.entries, self.owned = Ordered(), {}
        return kept

    def restore(self, kept: tuple[Ordered, dict[bytes, Entries]]) -> None:
        """Undo ``empty``."""
        self.entries, self.owned = kept


def _of_one(key_path: KeyPath) -> EntriesFor:
    extract, lengths, most = compiled(key_path), _LENGTHS, len(_LENGTHS)

    def entries_for(value: JsValue, primary: bytes) -> Entries:
        key = extract(value)
        if key is None:
            return ()
        length = len(key)
        if length < most:  # entry_of, without its call
            return (key + primary + lengths[length],)
        return (entry_of(key, primary),)

    return entries_for


def _of_members(key_path: str) -> EntriesFor:
    def entries_for(value: JsValue, primary: bytes) -> Entries:
        return tuple(entry_of(key, primary) for key in _members(value, key_path))

    return entries_for


def _of_made_key(otherwise: EntriesFor) -> EntriesFor:
    def entries_for(value: JsValue, primary: bytes) -> Entries:
        if primary[0] == ARRAY:
            return otherwise(value, primary)
        return (entry_of(primary, primary),)

    return entries_for


def _of_parts(key_path: tuple[str, ...], made: str) -> EntriesFor:
    """Of a compound path with the store's own key path ``made`` in it."""
    extractors = [None if part == made else compiled(part) for part in key_path]

    def entries_for(value: JsValue, primary: bytes) -> Entries:
        whole = _OPEN
        for extract in extractors:
            key = primary if extract is None else extract(value)
            if key is None:
                return ()
            whole += key
        return (entry_of(whole + _CLOSE, primary),)

    return entries_for


def _members(value: JsValue, key_path: str) -> list[bytes]:
    """The algorithm "Convert a value to a multiEntry key": each valid member once.

    An array that has a hole or contains itself gives nothing at all, as in
    Chromium, and neither does one that has such an array somewhere in it.
    """
    found = evaluate(value, key_path)
    if isinstance(found, Missing) or is_broken(found):
        return []
    if isinstance(found, Array):
        found = [found.own[index] for index in range(found.length)]
    if not isinstance(found, list):
        key = encode_valid(found)
        return [] if key is None else [key]
    keys = {encode_valid(member) for member in found}
    return sorted(key for key in keys if key is not None)
