"""The extension's own storage, read and written from its origin without its code.

Everything goes through a document at ``chrome-extension://ID/manifest.json``: it has
the origin's IndexedDB and ``chrome.storage`` and runs nothing of the extension's.
Reading never creates a database, and is done in chunks, so that a large store is no
large reply.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Literal

from extension_harness.browser import Browser
from extension_harness.errors import EvaluationError, StorageAccessError
from extension_harness.storage.dump import (
    DatabaseDump,
    Index,
    IndexDigest,
    IndexEntry,
    ObjectStore,
    Record,
    StoreDigests,
)
from extension_harness.tab import Page

Area = Literal["local", "session", "sync"]
CHUNK = 500
"""Records that one reply carries."""

SECONDS = 60.0
"""For one reply; a large store takes many."""

INJECTED = files("extension_harness").joinpath("injected")
READER = INJECTED.joinpath("storage_reader.js").read_text("utf-8")
WRITER = INJECTED.joinpath("storage_writer.js").read_text("utf-8")


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

    def dump(
        self, database: str, *, records: bool = True, entries: bool = False
    ) -> DatabaseDump:
        """Read a whole database; ``present`` is False when there is none.

        With ``records=False`` the shape alone; with ``entries`` what each index holds,
        too. Raises StorageAccessError.
        """
        with self._reading(database) as page:
            shape = page.evaluate(f"{READER}.shape", database, timeout=SECONDS)
            if shape is None:
                return DatabaseDump(database, present=False, version=0, stores={})
            stores = {}
            for entry in shape["stores"]:
                name = entry["name"]
                stores[name] = ObjectStore(
                    name=name,
                    key_path=_path(entry["keyPath"]),
                    auto_increment=entry["autoIncrement"],
                    indexes=tuple(
                        self._index(page, database, name, index, entries=entries)
                        for index in entry["indexes"]
                    ),
                    records=tuple(
                        Record(key, value)
                        for key, value in self._chunks(page, "records", database, name)
                    )
                    if records
                    else (),
                )
        return DatabaseDump(
            database, present=True, version=shape["version"], stores=stores
        )

    def digests(self, database: str) -> Mapping[str, StoreDigests]:
        """Each store by digests, made in the page: no record travels.

        Empty when there is no such database. Raises StorageAccessError.
        """
        with self._reading(database) as page:
            shape = page.evaluate(f"{READER}.shape", database, timeout=SECONDS)
            return {
                entry["name"]: StoreDigests(
                    records=dict(
                        self._chunks(page, "digests", database, entry["name"])
                    ),
                    indexes={
                        index["name"]: IndexDigest(
                            **page.evaluate(
                                f"{READER}.indexDigest",
                                database,
                                entry["name"],
                                index["name"],
                                CHUNK,
                                timeout=SECONDS,
                            )
                        )
                        for index in entry["indexes"]
                    },
                )
                for entry in (shape or {"stores": []})["stores"]
            }

    def build_database(self, described: DatabaseDump) -> None:
        """Make a database of this name, version, shape and content.

        What `dump` gave is made as it was, but for a key generator's place and for
        values that it could only name. One that is there is deleted first. No code of
        the extension takes part, so its worker must not run meanwhile.

        Raises StorageAccessError: the worker runs, another connection is open, or the
        browser refuses what is described.
        """
        if self._browser.worker.running():
            raise StorageAccessError(
                f"database {described.name} is not built while the extension's worker "
                "runs; stop it, and what wakes it, first"
            )
        shape = [_shape(store) for store in described.stores.values()]
        with self._reading(described.name) as page:
            page.evaluate(
                f"{WRITER}.make",
                described.name,
                described.version,
                shape,
                timeout=SECONDS,
            )
            for store in described.stores.values():
                for start in range(0, len(store.records), CHUNK):
                    some = store.records[start : start + CHUNK]
                    page.evaluate(
                        f"{WRITER}.fill",
                        described.name,
                        store.name,
                        json.dumps([[record.key, record.value] for record in some]),
                        timeout=SECONDS,
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

    @contextlib.contextmanager
    def _reading(self, database: str) -> Iterator[Page]:
        with self._browser.extension_page() as page:
            try:
                yield page
            except EvaluationError as cause:
                raise StorageAccessError(f"database {database}: {cause}") from cause

    def _index(
        self,
        page: Page,
        database: str,
        store: str,
        found: Mapping[str, Any],
        *,
        entries: bool,
    ) -> Index:
        name = found["name"]
        return Index(
            name=name,
            key_path=_path(found["keyPath"]) or "",
            unique=found["unique"],
            multi_entry=found["multiEntry"],
            entries=tuple(
                IndexEntry(key, primary_key)
                for key, primary_key in self._chunks(
                    page, "entries", database, store, name
                )
            )
            if entries
            else (),
        )

    def _chunks(
        self, page: Page, reader: str, *where: str
    ) -> Iterator[tuple[Any, Any]]:
        after: object = None
        while True:
            chunk = page.evaluate(
                f"{READER}.{reader}", *where, after, CHUNK, timeout=SECONDS
            )
            yield from json.loads(chunk["found"])
            after = chunk["resume"]
            if after is None:
                return


def _shape(store: ObjectStore) -> dict[str, object]:
    return {
        "name": store.name,
        "keyPath": store.key_path,
        "autoIncrement": store.auto_increment,
        "indexes": [
            {
                "name": index.name,
                "keyPath": index.key_path,
                "unique": index.unique,
                "multiEntry": index.multi_entry,
            }
            for index in store.indexes
        ],
    }


def _path(given: Any) -> str | tuple[str, ...] | None:  # noqa: ANN401 - JSON
    return tuple(given) if isinstance(given, list) else given
