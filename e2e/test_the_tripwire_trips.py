"""The tripwire of test builds: what it stops, what it lets by, and that it is told.

Without this, that no test tripped it would say nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.instrumented import trips
from e2e.wired_store import wired
from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import DATABASE
from extension_harness.waiting import wait_until

__all__ = ["wired"]

# Runs READ on the extension's own store, or on a larger one.
TRY = """
async (database, version, rows) => {
  await import("/instrument.js").catch(() => {}); // a worker has it, and may not import
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const opening = indexedDB.open(database, version);
  opening.onupgradeneeded = () => {
    const store = opening.result.createObjectStore("onetalk_candidates", {
      keyPath: "k",
    });
    store.createIndex("by_account_status", ["a", "s"]);
    for (let k = 0; k < rows; k += 1) store.put({ k, a: "7", s: "pending_ack" });
  };
  const connection = await done(opening);
  try {
    const transaction = connection.transaction(["onetalk_candidates"]);
    const store = transaction.objectStore("onetalk_candidates");
    const index = store.index("by_account_status");
    const range = IDBKeyRange.only(["7", "pending_ack"]);
    return await new Promise((resolve, reject) => {
      const walk = (request, step) => {
        request.onsuccess = () => {
          try {
            const cursor = request.result;
            if (cursor === null) resolve("walked");
            else step(cursor);
          } catch (error) {
            reject(error);
          }
        };
      };
      const result = READ;
      if (result !== undefined) done(result).then(() => resolve("read"), reject);
    });
  } catch (error) {
    return error.message;
  } finally {
    connection.close();
  }
}
"""
BAD = (
    "store.getAll()",
    "store.getAll(IDBKeyRange.lowerBound('a'), 5)",
    "store.getAllKeys()",
    "store.openCursor()",
    "store.openKeyCursor(null)",
    "store.count()",
    "index.getAll(range)",
    "index.getAll({query: range})",
    "index.getAll(null, 5)",
    "index.getAllKeys()",
    "index.openCursor()",
    "index.openKeyCursor(null, 'nextunique')",
    "index.count()",
)
GOOD = (
    "store.get('a')",
    "store.openCursor(IDBKeyRange.lowerBound('a'))",
    "store.count('a')",
    "index.getAll(range, 5)",
    "index.getAll({query: range, count: 5})",
    "index.getAllKeys(range)",
    "index.openCursor(range)",
    "index.count(range)",
)
WALK = "walk(index.openKeyCursor(range), (cursor) => cursor.continue())"


@pytest.fixture(scope="module")
def browser(wired: Browser) -> Browser:
    worker_status(wired)  # its store is there
    return wired


def attempted(browser: Browser, read: str, rows: int = 0) -> str:
    database, version = (f"{rows} rows", 1) if rows else (DATABASE, 10)
    with browser.extension_page() as page:
        found: str = page.evaluate(TRY.replace("READ", read), database, version, rows)
    return found


def test_reads_without_a_bound_throw_and_are_noted(browser: Browser) -> None:
    """OT-17: none of these gets through, and each is told afterwards."""
    before = len(trips(browser))
    for read in BAD:
        assert attempted(browser, read).startswith("tripwire: "), read
    # Each is noted without anybody waiting for it.
    wait_until(lambda: len(trips(browser)) >= before + len(BAD), 20, "every note")
    assert len(trips(browser)) == before + len(BAD)


def test_reads_within_a_scope_pass(browser: Browser) -> None:
    """OT-17, OT-20: what the store's verbs do is let by."""
    before = trips(browser)
    assert {attempted(browser, read) for read in GOOD} == {"read"}
    assert attempted(browser, WALK, rows=2_000) == "walked"
    assert trips(browser) == before


def test_a_long_walk_in_one_transaction_trips(browser: Browser) -> None:
    """OT-17: no cursor holds a transaction open over thousands of records."""
    assert "more than 2000 steps" in attempted(browser, WALK, rows=2_100)
    wait_until(lambda: is_noted(browser, "2000 steps"), 20, "the note")


def test_the_worker_itself_is_under_the_wire(browser: Browser) -> None:
    """The wire is laid before the worker's own code runs, and outlives the worker."""
    browser.worker.wake()
    read = "IDBObjectStore.prototype.getAll.call(null)"
    told = browser.worker.evaluate(
        f"(() => {{ try {{ {read} }} catch (error) {{ return error.message; }} }})()"
    )
    assert str(told).startswith("tripwire: ")
    wait_until(lambda: is_noted(browser, "getAll of undefined"), 20, "the note")
    browser.worker.stop()
    assert is_noted(browser, "getAll of undefined")


def is_noted(browser: Browser, part: str) -> bool:
    return any(part in each for each in trips(browser))


def test_the_shipped_extension_has_no_wire() -> None:
    """It is of test builds alone."""
    shipped: list[Path] = list(OWN_EXTENSION.rglob("*.js"))
    assert shipped
    assert not [path for path in shipped if "tripwire" in path.read_text("utf-8")]
