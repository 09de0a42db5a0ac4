"""The store's connection: held up, closed under a verb, refused, and there again.

All of it is the module that ships, in a page of the extension, beside the worker's own
connection. What is said of an upgrade is that it happens whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.launch.browser_process import LaunchOptions
from extension_harness.launch.chromium import Chromium
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import ANOMALIES, CANDIDATES, DATABASE, MESSAGES
from extension_harness.storage import ExtensionStorage
from extension_harness.tab import Page
from extension_harness.waiting import wait_until

SETUP = """
(async () => {
  const { Database } = await import("/store/database.js");
  const { DATABASE_NAME, MESSAGES, upgrade } = await import("/store/steps.js");
  const { knownAccounts } = await import("/store/checkpoints.js");
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const timer = { after: setTimeout.bind(window), cancel: clearTimeout.bind(window) };
  const raw = (version) => done(indexedDB.open(DATABASE_NAME, version));
  const forget = () => done(indexedDB.deleteDatabase(DATABASE_NAME));
  const code = (promise) => promise.then(() => null, (error) => error.code);
  const words = (promise) => promise.then(() => "", (error) => error.message);
  const opened = (patienceMs = 10_000) => {
    const each = { opens: 0, told: [] };
    const factory = {
      open: (...given) => {
        each.opens += 1;
        const request = indexedDB.open(...given);
        request.addEventListener("success", () => (each.raw = request.result));
        return request;
      },
    };
    const tell = ({ kind, why, error }) =>
      each.told.push([kind, why ?? error?.code ?? ""]);
    each.store = new Database(factory, tell, { timer, patienceMs });
    each.use = () => knownAccounts(each.store);
    each.until = async (kind) => {
      while (!each.told.some(([said]) => said === kind)) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    return each;
  };
  globalThis.t = { MESSAGES, code, done, forget, opened, raw, upgrade, words };
})()
"""


@pytest.fixture(scope="module")
def browser(chromium: Chromium) -> Iterator[Browser]:
    with Browser.launch(
        OWN_EXTENSION, chromium=chromium, options=LaunchOptions(headless=True)
    ) as running:
        worker_status(running)  # its store is there
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page with the store's module; nothing of a test's store stays."""
    with browser.extension_page() as tab:
        tab.evaluate(SETUP)
        yield tab
        tab.evaluate("t.forget()")


def test_an_opening_without_an_answer_is_said_and_never_doubled(page: Page) -> None:
    """OT-31: whoever needs the store is refused meanwhile; then it is simply there."""
    told = page.evaluate("""(async () => {
      const holder = await t.raw(); // hears no versionchange
      const deleting = t.forget(); // waits for the holder, and an opening for it
      const mine = t.opened(50);
      const refused = [await t.code(mine.store.open()), await t.code(mine.use())];
      holder.close();
      await mine.until("opened");
      const accounts = await mine.use();
      return { refused, accounts, opens: mine.opens, told: mine.told };
    })()""")
    assert told["refused"] == ["store_waiting", "store_waiting"]
    assert told["told"] == [["held", "store_waiting"], ["opened", ""]]
    assert (told["opens"], told["accounts"]) == (1, [])


def test_a_verb_under_which_the_browser_closes_the_store_runs_again(
    browser: Browser, page: Page
) -> None:
    """OT-31, known bug 27: it writes into the store that is made again; said once."""
    page.evaluate("""(async () => {
      t.mine = t.opened();
      t.runs = 0;
      t.running = t.mine.store.write([t.MESSAGES], async (transaction) => {
        const store = transaction.objectStore(t.MESSAGES);
        t.runs += 1;
        while (t.runs === 1) await t.done(store.get("none")); // until it is closed
        store.put({ key: "kept", channelAccountId: "7" });
        return "written";
      });
      await t.mine.until("opened");
    })()""")
    ExtensionStorage(browser).clear_databases()
    told = page.evaluate("""(async () => {
      const value = await t.running;
      await t.mine.until("closed");
      return { value, runs: t.runs, told: t.mine.told };
    })()""")
    assert (told["value"], told["runs"]) == ("written", 2)
    again = [["opened", ""], ["closed", "terminated"], ["opened", ""]]
    assert told["told"] == again
    dump = ExtensionStorage(browser).dump(DATABASE)
    assert [row["key"] for row in dump.records(MESSAGES)] == ["kept"]


def test_a_verb_that_meets_a_closed_connection_opens_another(page: Page) -> None:
    """OT-31, known bug 27: no event tells it; a transaction that cannot begin does."""
    told = page.evaluate("""(async () => {
      const mine = t.opened();
      await mine.store.open();
      mine.raw.close(); // of which the browser says nothing
      await mine.store.write([t.MESSAGES], async (transaction) => {
        const store = transaction.objectStore(t.MESSAGES);
        store.put({ key: "kept", channelAccountId: "7" });
      });
      mine.raw.close();
      const kept = await mine.store.read([t.MESSAGES], async (transaction) => {
        return (await t.done(transaction.objectStore(t.MESSAGES).get("kept")))?.key;
      });
      return { kept, opens: mine.opens, told: mine.told };
    })()""")
    again = [["closed", "terminated"], ["opened", ""]]
    assert told == {
        "kept": "kept",
        "opens": 3,
        "told": [["opened", ""], *again, *again],
    }


def test_a_store_that_is_cleared_is_told_without_anybody_using_it(
    browser: Browser, page: Page
) -> None:
    """OT-31, known bug 27: the browser's event is heard; the next use opens anew."""
    page.evaluate("(t.mine = t.opened()).store.open()")
    ExtensionStorage(browser).clear_databases()
    page.evaluate('t.mine.until("closed")')
    gone = [["opened", ""], ["closed", "terminated"]]
    assert page.evaluate("t.mine.told") == gone
    told = page.evaluate("""t.mine.use().then((accounts) => {
      return { accounts, opens: t.mine.opens, told: t.mine.told };
    })""")
    assert told == {"accounts": [], "opens": 2, "told": [*gone, ["opened", ""]]}


def test_a_newer_version_gets_the_store_at_once_and_is_named(page: Page) -> None:
    """OT-21: nothing blocks it; the next use of this version says so in words."""
    told = page.evaluate("""(async () => {
      const mine = t.opened();
      await mine.store.open();
      const newer = await t.raw(11);
      const refused = await t.words(mine.use());
      newer.close();
      return { refused, told: mine.told };
    })()""")
    assert "newer version of this extension" in told["refused"]
    assert told["told"] == [
        ["opened", ""],
        ["closed", "newer"],
        ["failed", "store_newer"],
    ]


# Makes the store as an older version had it: [store, options, {index: [key, options]}].
MAKE = """
async (version, stores) => {
  await t.forget();
  const opening = indexedDB.open("trade-message-center", version);
  opening.onupgradeneeded = () => {
    for (const [name, options, indexes] of stores) {
      const store = opening.result.createObjectStore(name, options);
      for (const [index, given] of Object.entries(indexes)) {
        store.createIndex(index, ...given);
      }
      store.put({ key: "old", candidateKey: "old", channelAccountId: "7" });
    }
  };
  (await t.done(opening)).close();
  const mine = t.opened();
  return { refused: await t.words(mine.store.open()), told: mine.told };
}
"""
KEY = {"keyPath": "key"}
CANDIDATE_KEY = {"keyPath": "candidateKey"}
ACCOUNT = "channelAccountId"
UNDONE = "upgrade_failed"
CARDS = "onetalk_rendered_card_ledger"
FIVE: dict[str, list[Any]] = {
    MESSAGES: [KEY, {}],
    CANDIDATES: [CANDIDATE_KEY, {}],
    "onetalk_checkpoints": [KEY, {}],
    ANOMALIES: [KEY, {}],
    "onetalk_contact_profiles": [KEY, {}],
}


def made(page: Page, version: int, changed: dict[str, list[Any]]) -> dict[str, Any]:
    stores = [[name, *given] for name, given in {**FIVE, **changed}.items()]
    told: dict[str, Any] = page.evaluate(MAKE, version, stores)
    return told


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (
            {MESSAGES: [KEY, {"by_account_conversation": [ACCOUNT]}]},
            "by_account_conversation",
        ),
        (
            {
                CANDIDATES: [
                    CANDIDATE_KEY,
                    {"by_account_status": [[ACCOUNT, "status"], {"unique": True}]},
                ]
            },
            "by_account_status",
        ),
        ({CARDS: [{"keyPath": "id", "autoIncrement": True}, {}]}, CARDS),
    ],
)
def test_what_is_there_under_a_name_and_is_another_stops_the_upgrade(
    browser: Browser, page: Page, changed: dict[str, list[Any]], named: str
) -> None:
    """OT-13, OT-16: in words, after which the old version is there, whole."""
    told = made(page, 7, changed)
    assert named in told["refused"]
    assert "old version, whole" in told["refused"]
    assert told["told"] == [["failed", UNDONE]]
    dump = ExtensionStorage(browser).dump(DATABASE)
    assert (dump.version, set(dump.stores)) == (7, {*FIVE, *changed})
    assert all(len(dump.records(name)) == 1 for name in dump.stores)
    with browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(
            "document.getElementById('last-error-text').textContent"
            ".startsWith('The message store could not be upgraded')"
        )
    page.evaluate("t.forget()")
    wait_until(
        # What another test cleared under the worker is told as a fault of the past.
        lambda: (worker_status(browser)["lastFault"] or {}).get("code") != UNDONE,
        60,
        "that it is over",
        every=0.1,
    )


def test_a_store_of_another_shape_before_7_is_made_anew(
    browser: Browser, page: Page
) -> None:
    """OT-11, OT-16: cleared before any index is made; no index of before is left."""
    stale = {
        "by_account_status": ["status", {"unique": True}],
        "by_text": ["text"],
    }
    told = made(
        page,
        6,
        {
            MESSAGES: [{"keyPath": "id", "autoIncrement": True}, {"by_text": ["text"]}],
            ANOMALIES: [{"keyPath": "key", "autoIncrement": True}, {}],
            CANDIDATES: [CANDIDATE_KEY, stale],
        },
    )
    assert told["refused"] == ""
    storage = ExtensionStorage(browser)
    dump = storage.dump(DATABASE)
    assert not any(dump.records(name) for name in dump.stores)
    page.evaluate("t.forget()")
    page.evaluate("t.opened().store.open()")
    assert storage.dump(DATABASE) == dump, "not as a fresh one"


def test_a_step_has_to_be_synchronous_and_to_come_to_its_end(page: Page) -> None:
    """OT-10: what it would do later is no part of the upgrade; nothing of it counts."""
    told = page.evaluate("""(async () => {
      const outcomes = [];
      for (const change of [async () => {}, () => { throw new Error("no more"); }]) {
        const opening = indexedDB.open("steps", 2);
        let refused = null;
        opening.onupgradeneeded = () => {
          const steps = [
            { to: 1, change: (database) => void database.createObjectStore("one") },
            { to: 2, change },
          ];
          try {
            t.upgrade(opening.result, opening.transaction, 0, 2, steps);
          } catch (error) {
            refused = [error.code, error.message];
            opening.transaction.abort();
          }
        };
        const ended = await t.done(opening).catch(({ name }) => name);
        outcomes.push([refused, ended]);
      }
      const names = (await indexedDB.databases()).map(({ name }) => name);
      return { outcomes, names };
    })()""")
    [[later, first], [thrown, second]] = told["outcomes"]
    assert (later[0], thrown[0]) == ("upgrade_failed", "upgrade_failed")
    assert "has to be synchronous" in later[1]
    assert "the step to version 2 failed (no more)" in thrown[1]
    assert (first, second) == ("AbortError", "AbortError")
    assert "steps" not in told["names"]
