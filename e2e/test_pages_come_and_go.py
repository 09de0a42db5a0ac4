"""A page that is left, several that are open, and a clock that stands still."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.instrumented import instrumented
from e2e.proof import prove
from e2e.rigs import SHORT, running_rig
from e2e.workers import ObserverWorld
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import CANDIDATES, MESSAGES, Rig
from extension_harness.waiting import wait_until

FROZEN_CLOCK = "const now = Date.now(); Date.now = () => now;"
# No opening of a database succeeds.
NO_STORE = """
IDBFactory.prototype.open = function () {
  const request = new EventTarget();
  request.error = new DOMException("Internal error.", "UnknownError");
  setTimeout(() => request.onerror?.(new Event("error")));
  return request;
};
"""
ASK = """(async () => {
  const answers = [];
  for (let n = 0; n < 100; n += 1) {
    const body = JSON.stringify({ channelAccountId: "%s", route: "/asked" });
    answers.push(
      chrome.runtime.sendMessage({ type: "page.hello", pageId: "asked", body }),
    );
  }
  return JSON.stringify(await Promise.all(answers));
})()"""


def test_what_a_page_showed_as_it_was_left_is_found_by_the_next_scan(rig: Rig) -> None:
    """Known bug 37: the promise at a page's end is the history, not the last moment.

    The worker is stopped each time, so that nothing that was under way is finished.
    """
    rig.configure(**SHORT)
    tab = rig.open_page()
    prove(rig)
    for turn in range(5):
        rig.worker.stop()
        rig.page.post_live(text=f"and gone {turn}")
        tab.close()
        rig.page.wait_for_no_page()
        tab = rig.open_page()
    prove(rig)


def test_the_worker_answers_while_the_other_pages_listen_too(rig: Rig) -> None:
    """Known bug 61: popup and options page are open; a hundred of a hundred answers."""
    rig.configure(**SHORT)
    tab = rig.open_page()
    world = ObserverWorld(rig.browser, tab)
    with (
        rig.browser.extension_page("pages/popup.html"),
        rig.browser.extension_page("pages/options.html"),
    ):
        answers = json.loads(world.evaluate(ASK % rig.page.corpus.account))
    assert answers == [{"known": True}] * 100
    prove(rig)


def test_two_hundred_observations_of_one_instant_stay_two_hundred(
    chromium: Chromium, tmp_path: Path
) -> None:
    """OT-01, known bug 43: no id is made of a clock; here the worker's stands still."""
    corpus = Corpus.generate(seed=91, conversations=2, messages=20)
    extension = instrumented(tmp_path, FROZEN_CLOCK)
    with running_rig(chromium, tmp_path, corpus, extension=extension, **SHORT) as rig:
        rig.open_page()
        prove(rig)
        before = len(rig.extension_store().records(MESSAGES))
        for n in range(200):
            rig.page.post_live(text=f"at once {n}")
        prove(rig)
        store = rig.extension_store()
        assert len(store.records(MESSAGES)) == before + 200
        keys = {row["candidateKey"] for row in store.records(CANDIDATES)}
        assert len(keys) == before + 200


def test_without_a_store_nothing_counts_as_saved(
    chromium: Chromium, tmp_path: Path
) -> None:
    """OT-31, known bug 47: there is no falling back to memory, and it is said."""
    corpus = Corpus.generate(seed=92, conversations=2, messages=20)
    extension = instrumented(tmp_path, NO_STORE)
    with running_rig(chromium, tmp_path, corpus, extension=extension, **SHORT) as rig:
        tab = rig.open_page()
        world = ObserverWorld(rig.browser, tab)
        world.note_attempts()
        rig.page.post_live(text="nowhere to put it")
        with rig.browser.extension_page("pages/popup.html") as popup:
            popup.wait_for(
                "document.getElementById('last-error-text').textContent"
                ".includes('does not open the message store')",
                timeout=60,
            )

        def outcomes() -> set[str]:
            return {each["outcome"] for each in world.attempts()}

        # What the popup said first may be of another attempt than the message's.
        wait_until(lambda: outcomes() - {"open"}, 40, "an attempt's end")
        assert outcomes() <= {"not stored", "open"}
        assert not rig.proxy.seen("observation.batch")
        assert not rig.proxy.seen("conversation.discovered")
        assert not rig.extension_store().present
