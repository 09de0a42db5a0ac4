"""The extension's own storage, read and written from its origin without its code.

Everything goes through a document at ``chrome-extension://ID/manifest.json``: it has
the origin's IndexedDB and ``chrome.storage`` and runs nothing of the extension's.
Reading never creates a database, and is done in chunks, so that a large store is no
large reply.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from extension_harness.browser import Browser
from extension_harness.errors import EvaluationError, StorageAccessError
from extension_harness.tab import Page

Area = Literal["local", "session", "sync"]
CHUNK = 500
"""Records that one reply carries."""

READER = (
    files("extension_harness").joinpath("injected/storage_reader.js").read_text("utf-8")
)


@dataclass(frozen=True)
class Record:
    """One record: its primary key and its value, as JSON.

    What JSON lacks is written as an object with one ``$`` field: ``{"$date": ms}``,
    ``{"$bytes": hex}``, ``{"$undefined": true}``, ``{"$number": "NaN"}``, ``{"$bigint":
    "…"}``, ``{"$other": kind}``.
    """

    key: Any
    value: Any


@dataclass(frozen=True)
class Index:
    """An index of an object store."""

    name: str
    key_path: str | tuple[str, ...]
    unique: bool
    multi_entry: bool


@dataclass(frozen=True)
class ObjectStore:
    """An object store: its shape and its records in key order."""

    name: str
    key_path: str | tuple[str, ...] | None
    auto_increment: bool
    indexes: tuple[Index, ...]
    records: tuple[Record, ...]

    def values(self) -> tuple[Any, ...]:
        """The records' values, in key order."""
        return tuple(record.value for record in self.records)


@dataclass(frozen=True)
class DatabaseDump:
    """A database as one moment had it, or the statement that there is none.

    Each store is read in one transaction per chunk: dump a database that rests, or take
    the picture of each store for itself.
    """

    name: str
    present: bool
    version: int
    stores: Mapping[str, ObjectStore]

    def records(self, store: str) -> tuple[Any, ...]:
        """The values of a store; raises StorageAccessError when it is not there."""
        if store not in self.stores:
            there = ", ".join(self.stores) or (
                "none" if self.present else "no database"
            )
            raise StorageAccessError(
                f"database {self.name} has no store {store}; it has: {there}"
            )
        return self.stores[store].values()


class ExtensionStorage:
    """The storage of the extension that a browser runs."""

    def __init__(self, browser: Browser) -> None:
        """Use this browser's tabs."""
        self._browser = browser

    def databases(self) -> Mapping[str, int]:
        """The origin's IndexedDB databases and their versions."""
        with self._browser.extension_page() as page:
            found = page.evaluate("indexedDB.databases()")
        return {entry["name"]: int(entry["version"]) for entry in found}

    def dump(self, database: str, *, records: bool = True) -> DatabaseDump:
        """Read a whole database; ``present`` is False when there is none.

        With ``records=False`` the shape alone. Raises StorageAccessError.
        """
        with self._browser.extension_page() as page:
            try:
                shape = page.evaluate(f"{READER}.shape", database, timeout=60)
                if shape is None:
                    return DatabaseDump(database, present=False, version=0, stores={})
                stores = {
                    entry["name"]: _store(
                        entry,
                        self._records(page, database, entry["name"]) if records else (),
                    )
                    for entry in shape["stores"]
                }
            except EvaluationError as cause:
                raise StorageAccessError(f"database {database}: {cause}") from cause
        return DatabaseDump(
            database, present=True, version=shape["version"], stores=stores
        )

    def count(self, database: str, store: str) -> int:
        """How many records a store has; 0 when database or store is absent."""
        with self._browser.extension_page() as page:
            return int(page.evaluate(f"{READER}.count", database, store, timeout=60))

    def get(self, area: Area = "local") -> Mapping[str, Any]:
        """All of ``chrome.storage``'s area."""
        with self._browser.extension_page() as page:
            found = page.evaluate("(area) => chrome.storage[area].get(null)", area)
        return dict(found)

    def set(self, values: Mapping[str, object], area: Area = "local") -> None:
        """Write keys of ``chrome.storage``; the others stay."""
        with self._browser.extension_page() as page:
            page.evaluate(
                "(area, values) => chrome.storage[area].set(values)", area, dict(values)
            )

    def clear(self, area: Area = "local") -> None:
        """Empty an area of ``chrome.storage``."""
        with self._browser.extension_page() as page:
            page.evaluate("(area) => chrome.storage[area].clear()", area)

    def clear_databases(self) -> None:
        """Clear the origin's IndexedDB as the browser's own settings would.

        Open connections get ``close``; what they do next throws InvalidStateError.
        """
        with self._browser.extension_page() as page:
            page.call(
                "Storage.clearDataForOrigin",
                origin=self._browser.extension.origin,
                storageTypes="indexeddb",
            )

    @contextlib.contextmanager
    def quota(self, size_bytes: int) -> Iterator[None]:
        """Limit the origin's quota while the block runs.

        A write over it succeeds as a request and then aborts its transaction; only
        incompressible data feels it.
        """
        with self._browser.extension_page() as page:
            page.call(
                "Storage.overrideQuotaForOrigin",
                origin=self._browser.extension.origin,
                quotaSize=size_bytes,
            )
            yield  # the override lives as long as this tab's session

    def _records(self, page: Page, database: str, store: str) -> tuple[Record, ...]:
        found: list[Record] = []
        after: object = None
        while True:
            chunk = page.evaluate(
                f"{READER}.chunk", database, store, after, CHUNK, timeout=60
            )
            found += [Record(key, value) for key, value in json.loads(chunk["records"])]
            after = chunk["resume"]
            if after is None:
                return tuple(found)


def _store(entry: Mapping[str, Any], records: tuple[Record, ...]) -> ObjectStore:
    return ObjectStore(
        name=entry["name"],
        key_path=_path(entry["keyPath"]),
        auto_increment=entry["autoIncrement"],
        indexes=tuple(
            Index(
                index["name"],
                _path(index["keyPath"]) or "",
                index["unique"],
                index["multiEntry"],
            )
            for index in entry["indexes"]
        ),
        records=records,
    )


def _path(given: Any) -> str | tuple[str, ...] | None:  # noqa: ANN401 - JSON
    return tuple(given) if isinstance(given, list) else given
