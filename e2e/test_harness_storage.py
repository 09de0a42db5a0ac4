"""The harness reads and writes the extension's storage and leaves it as it was."""

from dataclasses import replace

import pytest

from e2e.conftest import FIXTURES
from extension_harness.browser import Browser
from extension_harness.errors import StorageAccessError
from extension_harness.storage import (
    CHUNK,
    DatabaseDump,
    ExtensionStorage,
    Index,
    IndexEntry,
    ObjectStore,
    Record,
    StoreDigests,
)
from extension_harness.waiting import wait_until

pytestmark = pytest.mark.extension(FIXTURES / "recorder")

# Makes a database with what JSON cannot say.
ODD = """async () => {
  const request = indexedDB.open("odd", 3);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore("values"); store.createIndex("pair",
    ["a", "b"], {unique: true}); store.createIndex("many", "tags", {multiEntry: true});
    request.result.createObjectStore("rising", {keyPath: ["x", "y"], autoIncrement:
    false}); request.result.createObjectStore("counted", {autoIncrement: true});
  };
  const database = await new Promise((resolve) => {
    request.onsuccess = () => resolve(request.result);
  }); const transaction = database.transaction(["values", "rising"], "readwrite"); const
  store = transaction.objectStore("values"); store.put({a: new Date(5), b: undefined, c:
  NaN, d: 10n, e: new Uint8Array([1, 255])}, 1); store.put(new Map([[1, 2]]), "text");
  store.put(null, [1, "x"]); transaction.objectStore("rising").put({x: 1, y: "z", deep:
  [{when: new Date(7)}]}); await new Promise((resolve) => { transaction.oncomplete =
  resolve; }); database.close();
}"""

FILL = """(count) => new Promise((resolve) => {
  const request = indexedDB.open("recorder");
  request.onsuccess = () => {
    const transaction = request.result.transaction(["rows"], "readwrite");
    for (let at = 0; at < count; at += 1) {
      transaction.objectStore("rows").put({id: String(at).padStart(6, "0"), state:
      "x"});
    }
    transaction.oncomplete = () => { request.result.close(); resolve(); };
  };
})"""

HOLD = """new Promise((resolve) => {
  const request = indexedDB.open("held");
  request.onsuccess = () => { globalThis.held = request.result; resolve(); };
})"""

# Over a quota: incompressible bytes, and what became of the request and the
# transaction.
WRITE_MEGABYTE = """(id) => new Promise((resolve) => {
  const request = indexedDB.open("recorder");
  request.onsuccess = () => {
    const bytes = new Uint8Array(1 << 20);
    for (let at = 0; at < bytes.length; at += 65536) {
      crypto.getRandomValues(bytes.subarray(at, at + 65536));
    }
    const transaction = request.result.transaction(["rows"], "readwrite");
    transaction.objectStore("rows").put({id, bytes});
    transaction.oncomplete = () => { request.result.close(); resolve("complete"); };
    transaction.onabort = () => {
      request.result.close(); resolve(transaction.error.name);
    };
  };
})"""


def wait_until_made(browser: Browser, storage: ExtensionStorage) -> None:
    """Wait until the worker has made its database: whoever opens first makes it."""
    browser.worker.wake()
    wait_until(
        lambda: storage.dump("recorder", records=False).stores,
        40,
        "the first opening",
    )


def test_an_absent_database_is_told_absent_and_is_not_made(
    storage: ExtensionStorage,
) -> None:
    """Known bug 46."""
    before = storage.databases()
    absent = storage.dump("nowhere")
    assert (absent.present, absent.version, absent.stores) == (False, 0, {})
    assert storage.count("nowhere", "rows") == 0
    assert storage.databases() == before
    with pytest.raises(StorageAccessError, match="no database"):
        absent.records("rows")


def test_a_dump_tells_the_shape_and_every_record(
    browser: Browser, storage: ExtensionStorage
) -> None:
    with browser.extension_page() as page:
        page.evaluate(f"({ODD})()")
    dump = storage.dump("odd")
    assert dump.version == 3
    values, rising = dump.stores["values"], dump.stores["rising"]
    assert (values.key_path, rising.key_path) == (None, ("x", "y"))
    assert dump.stores["counted"].auto_increment
    assert [(each.name, each.key_path) for each in values.indexes] == [
        ("many", "tags"),
        ("pair", ("a", "b")),
    ]
    assert [each.unique for each in values.indexes] == [False, True]
    assert [each.multi_entry for each in values.indexes] == [True, False]
    assert [record.key for record in values.records] == [1, "text", [1, "x"]]
    assert values.values() == (
        {
            "a": {"$date": 5},
            "b": {"$undefined": True},
            "c": {"$number": "NaN"},
            "d": {"$bigint": "10"},
            "e": {"$bytes": "01ff", "$view": "Uint8Array"},
        },
        {"$map": [[1, 2]]},
        None,
    )
    assert rising.values() == ({"x": 1, "y": "z", "deep": [{"when": {"$date": 7}}]},)


def test_a_large_store_is_read_whole_and_in_key_order(
    browser: Browser, storage: ExtensionStorage
) -> None:
    wait_until_made(browser, storage)
    count = 2 * CHUNK + 1
    with browser.extension_page() as page:
        page.evaluate(FILL, count)
    keys = [record.key for record in storage.dump("recorder").stores["rows"].records]
    assert keys == [f"{at:06}" for at in range(count)]
    assert storage.count("recorder", "rows") == count
    shape = storage.dump("recorder", records=False)
    assert shape.stores["rows"].records == ()


ODD_VALUES = (
    {"$date": 7},
    {"$date": {"$number": "NaN"}},
    {"$number": "-0"},
    {"$bigint": "-12345678901234567890"},
    {"$bytes": "00ff"},
    {"$bytes": "0100", "$view": "Uint16Array"},
    {"$map": [[{"$date": 1}, {"$set": [1, {"$undefined": True}]}]]},
    {"$regexp": "a+", "$flags": "gi"},
    {"$array": 3, "$own": [["1", "x"], ["name", None]]},
    {"$object": [["$date", 1], ["__proto__", 2]]},
    {"__proto__": {"x": [1.5, [], {}]}, "lone": "\ud800", "": False},
)


def test_what_was_read_can_be_built_and_is_the_same(
    browser: Browser, storage: ExtensionStorage
) -> None:
    """Shape, odd values, keys out of line and index entries, across chunk borders."""
    browser.worker.stop()
    odd = ObjectStore(
        name="odd",
        key_path=None,
        auto_increment=True,
        records=tuple(Record(at + 1, value) for at, value in enumerate(ODD_VALUES)),
    )
    many = ObjectStore(
        name="many",
        key_path=("a", "b"),
        indexes=(
            Index("by_half", "half"),
            Index("by_tag", "tags", multi_entry=True),
            Index("by_unique", "a", unique=True),
        ),
        records=tuple(
            Record([at, "x"], {"a": at, "b": "x", "half": at // 2, "tags": ["t", at]})
            for at in range(CHUNK + 1)
        ),
    )
    built = DatabaseDump("built", present=True, version=7, stores={})
    built = replace(built, stores={store.name: store for store in (many, odd)})
    storage.build_database(built)
    assert storage.dump("built") == built
    dumped = storage.dump("built", entries=True).stores["many"]
    halves = dumped.index("by_half").entries
    assert halves == tuple(IndexEntry(at // 2, [at, "x"]) for at in range(CHUNK + 1)), (
        "an entry is missing or doubled where two chunks meet"
    )
    assert len(dumped.index("by_tag").entries) == 2 * (CHUNK + 1)
    assert {entry.key for entry in dumped.index("by_unique").entries} == set(
        range(CHUNK + 1)
    )


def test_digests_tell_which_record_and_which_index_is_another(
    browser: Browser, storage: ExtensionStorage
) -> None:
    """Equal content has equal digests, in whatever order its properties are."""
    browser.worker.stop()

    def digested(*records: Record) -> StoreDigests:
        store = ObjectStore("s", "id", indexes=(Index("by", "x"),), records=records)
        storage.build_database(DatabaseDump("d", True, 1, {"s": store}))
        return storage.digests("d")["s"]

    first, second = (
        Record(1, {"id": 1, "x": 1}),
        Record(2, {"id": 2, "x": {"$date": 1}}),
    )
    before = digested(first, second)
    assert digested(Record(1, {"x": 1, "id": 1}), second) == before
    assert set(before.records) == {"1", "2"}
    assert before.indexes["by"].count == 2
    after = digested(first, Record(2, {"id": 2, "x": {"$number": "NaN"}}))
    assert after.records["1"] == before.records["1"]
    assert after.records["2"] != before.records["2"]
    assert after.indexes["by"].count == 1
    assert after.indexes["by"].digest != before.indexes["by"].digest
    assert storage.digests("nowhere") == {}


def test_no_database_is_built_under_a_running_worker_or_an_open_connection(
    browser: Browser, storage: ExtensionStorage
) -> None:
    described = DatabaseDump("held", present=True, version=1, stores={})
    browser.worker.wake()
    with pytest.raises(StorageAccessError, match="worker"):
        storage.build_database(described)
    browser.worker.stop()
    storage.build_database(described)
    with browser.extension_page() as page:
        page.evaluate(HOLD)
        with pytest.raises(StorageAccessError, match="another connection"):
            storage.build_database(described)


@pytest.mark.parametrize("area", ["local", "session"])
def test_chrome_storage_is_read_and_written(
    storage: ExtensionStorage, area: str
) -> None:
    storage.set({"a": {"b": [1, None]}}, area)  # type: ignore[arg-type]
    storage.set({"c": "text"}, area)  # type: ignore[arg-type]
    assert storage.get(area) == {"a": {"b": [1, None]}, "c": "text"}  # type: ignore[arg-type]
    storage.clear(area)  # type: ignore[arg-type]
    assert storage.get(area) == {}  # type: ignore[arg-type]


def test_over_the_quota_a_transaction_aborts_and_afterwards_it_does_not(
    browser: Browser, storage: ExtensionStorage
) -> None:
    wait_until_made(browser, storage)
    with browser.extension_page() as page:
        with storage.quota(50_000):
            refused = page.evaluate(WRITE_MEGABYTE, "over", timeout=30)
        assert refused == "QuotaExceededError"
        assert page.evaluate(WRITE_MEGABYTE, "under", timeout=30) == "complete"


def test_clearing_the_origins_databases_leaves_none(
    browser: Browser, storage: ExtensionStorage
) -> None:
    wait_until_made(browser, storage)
    storage.clear_databases()
    assert storage.databases() == {}


def test_reading_the_storage_hides_no_page(
    browser: Browser, storage: ExtensionStorage
) -> None:
    """A hidden page's timers are slowed; looking must not change what is looked at."""
    with browser.extension_page("service-worker.js") as page:
        page.wait_for("document.visibilityState === 'visible'")
        page.evaluate(
            "globalThis.changes = 0; document.onvisibilitychange = () => changes++"
        )
        for _ in range(3):
            storage.dump("recorder")
        assert page.evaluate("[changes, document.visibilityState]") == [0, "visible"]
