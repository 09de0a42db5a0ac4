"""A large backlog goes up in measure: bounded in flight and in memory."""

from __future__ import annotations

import pytest

from e2e.rigs import SHORT
from e2e.scripted_bright import Frame, ScriptedBright, Talk, message_ids
from extension_harness.browser import Browser
from extension_harness.rig import CANDIDATES, DATABASE, MESSAGES
from extension_harness.storage import ExtensionStorage
from extension_harness.waiting import wait_until

ACCOUNT = "2500000000001"
ROWS = 12_000
CONVERSATIONS = 24
IN_FLIGHT = 4
FRAME_SECONDS = 0.05
HEAP_BYTES = 64 * 2**20

# The extension's own recorder writes the backlog, beside its worker.
SEED = """
async (account, rows, conversations) => {
  const { Database } = await import("/store/database.js");
  const { Recorder } = await import("/background/recorder.js");
  const database = new Database(indexedDB);
  const recorder = new Recorder(database, Date.now, () => {});
  const each = Math.ceil(rows / conversations);
  for (let chat = 0; chat < conversations; chat += 1) {
    const conversationId = `chat-${chat}#11011@icbu`;
    const observations = Array.from({ length: each }, (_, n) => ({
      surface: "seed", conversationId, messageId: String(1e12 + chat * each + n),
      senderId: "77", direction: "inbound", sentAtMs: 1.7e12 + n, kind: "text",
      text: `${n} `.repeat(40),
    }));
    await recorder.record({
      channelAccountId: account, conversationId, observations, page: null,
    });
  }
}
"""


@pytest.fixture
def backlog(browser: Browser) -> ExtensionStorage:
    """The storage of an extension with a backlog and no server yet."""
    storage = ExtensionStorage(browser)
    storage.set({"settings": {**SHORT, "ackTimeoutMs": 120_000}})
    with browser.extension_page() as page:
        page.evaluate(SEED, ACCOUNT, ROWS, CONVERSATIONS, timeout=240)
    assert storage.count(DATABASE, MESSAGES) == ROWS
    return storage


@pytest.mark.timeout(600)
def test_unacked_batches_stay_in_the_window(
    browser: Browser, backlog: ExtensionStorage
) -> None:
    """Known bugs 40, 50: never more than a slow server takes, nor all in memory."""
    most = 0
    heaps: list[int] = []

    def script(talk: Talk) -> None:
        nonlocal most
        talk.greet(in_flight=IN_FLIGHT)
        waiting: list[Frame] = []
        while True:
            frame = talk.receive(FRAME_SECONDS)
            if frame is not None and frame["type"] == "observation.batch":
                waiting.append(frame)
                most = max(most, len(waiting))
            elif frame is not None:
                talk.answer(frame)
            # Full, or nothing more comes: then one is answered.
            if waiting and (frame is None or len(waiting) > IN_FLIGHT):
                talk.acknowledge(waiting.pop(0))

    with ScriptedBright(script, [ACCOUNT]) as server:
        backlog.set({"serverUrl": server.url, "bindingToken": "scripted"})
        server.wait_for("hello", lambda _: True, 60)  # the change may have woken it

        def probe() -> bool:
            heaps.append(heap_bytes(browser))
            return count_confirmed(browser) == ROWS

        wait_until(probe, 240, "the backlog to go up", every=1)
        batches = [each.frame for each in server.heard("observation.batch")]
        sent = [each for batch in batches for each in message_ids(batch)]
        assert len(sent) == len(set(sent)) == ROWS
        assert most <= IN_FLIGHT
        assert server.connections == 1
        assert max(heaps) < HEAP_BYTES, f"worker's heap: {max(heaps)} bytes"


def heap_bytes(browser: Browser) -> int:
    """What the worker's heap uses now."""
    devtools = browser.devtools
    with devtools.attached(browser.worker.target_id()) as session:
        return int(devtools.call("Runtime.getHeapUsage", session=session)["usedSize"])


def count_confirmed(browser: Browser) -> int:
    with browser.extension_page() as page:
        return int(page.evaluate(CONFIRMED, DATABASE, CANDIDATES, ACCOUNT, timeout=60))


CONFIRMED = """
async (name, store, account) => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await done(indexedDB.open(name));
  try {
    const reading = database.transaction([store], "readonly");
    const index = reading.objectStore(store).index("by_account_status");
    return await done(index.count([account, "confirmed"]));
  } finally {
    database.close();
  }
}
"""


# Retried as one: a page of history of which one row had come live.
RETRY = """
async (account) => {
  const { Database } = await import("/store/database.js");
  const { Recorder } = await import("/background/recorder.js");
  const recorder = new Recorder(new Database(indexedDB), Date.now, () => {});
  const conversationId = "retried#11011@icbu";
  const observations = Array.from({ length: 100 }, (_, n) => ({
    surface: "seed", conversationId, messageId: String(2e12 + n), senderId: "77",
    direction: "inbound", sentAtMs: 1.7e12 + n, kind: "text", text: `row ${n}`,
  }));
  const record = (rows) => recorder.record({
    channelAccountId: account, conversationId, observations: rows, page: null,
  });
  await record([observations[41]]);
  const [all] = await record(observations);
  const [again] = await record(observations);
  return { all: [all.added, all.known], again: [again.added, again.known] };
}
"""


def test_one_known_row_does_not_cost_the_other_ninety_nine(browser: Browser) -> None:
    """OT-01, known bug 34: a retried batch adds what is missing, and keeps the rest."""
    storage = ExtensionStorage(browser)
    with browser.extension_page() as page:
        told = page.evaluate(RETRY, ACCOUNT, timeout=60)
    assert told == {"all": [99, 1], "again": [0, 100]}
    rows = storage.dump(DATABASE).records(MESSAGES)
    assert sorted(row["messageId"] for row in rows) == [
        str(2_000_000_000_000 + n) for n in range(100)
    ]
