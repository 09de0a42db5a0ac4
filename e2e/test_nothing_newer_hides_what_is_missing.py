"""What is newest is stored first, and what is older and missing is found all the same.

A page sees more than anybody takes from it; a page opens in the middle of a talk.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.instrumented import instrumented
from e2e.proof import open_and_prove, prove
from e2e.rigs import SHORT, running_rig
from e2e.test_upgrade_with_bright import HOLD, as_version
from e2e.workers import put_to_rest
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.messy import DEFAULT_CODES
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import Rig

ROOM = 5
"""Batches in the queue of this copy, so that it need not be filled with 2,000."""
TOO_MANY = 60
EVERY_SECONDS = 0.05
SECONDS = 4.0
SLOW_LIST = """
const send = chrome.tabs.sendMessage;
chrome.tabs.sendMessage = async (...given) => {
  if (given[1]?.kind === "conversations") {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
  return send.apply(chrome.tabs, given);
};
"""
"""The page's list takes its time, as that of a large account does."""
NOTICE = "document.getElementById('bright-notice')?.dataset.notice"


CORPUS = Corpus.generate(
    seed=51, conversations=2, messages=100, messy=DEFAULT_CODES - {"M23"}
)
SETTINGS = {**SHORT, "historyPageSize": 20}


@pytest.fixture
def short_of_room(chromium: Chromium, tmp_path: Path) -> Iterator[Rig]:
    """A synced rig with a short queue, its page closed."""
    copy = tmp_path / "extension"
    shutil.copytree(OWN_EXTENSION, copy)
    observer = copy / "content/observer.js"
    text = observer.read_text("utf-8")
    assert "MAX_QUEUED = 2_000;" in text
    observer.write_text(
        text.replace("MAX_QUEUED = 2_000;", f"MAX_QUEUED = {ROOM};"), "utf-8"
    )
    with running_rig(chromium, tmp_path, CORPUS, extension=copy, **SETTINGS) as made:
        with open_and_prove(made):
            pass
        made.page.wait_for_no_page()
        yield made


def test_what_did_not_fit_is_found_although_newer_ones_came_first(
    short_of_room: Rig,
) -> None:
    """OT-31, OT-43: said in the page; and nothing newer is taken to cover it.

    The store's upgrade is held up meanwhile. Live messages go on when it is over, are
    stored, confirmed and newer than all that was lost.
    """
    rig = short_of_room
    store = rig.extension_store()
    put_to_rest(rig.browser)
    rig.storage.build_database(as_version(store, 9))
    holder = rig.browser.extension_page()
    holder.evaluate(HOLD)
    with rig.open_page() as tab:
        for n in range(TOO_MANY):
            rig.page.post_live(text=f"while it is held up: {n}")
        tab.wait_for(f"{NOTICE} === 'noticeQueueFull'")
        holder.close()
        talk(rig)
        prove(rig)
        tab.wait_for(f"{NOTICE} === undefined")


def test_what_came_while_no_page_was_open_is_found_although_the_talk_goes_on(
    chromium: Chromium, tmp_path: Path
) -> None:
    """OT-43, OT-46: live messages come, and are proven, before the list is read."""
    slow = instrumented(tmp_path, SLOW_LIST)
    with running_rig(chromium, tmp_path, CORPUS, extension=slow, **SETTINGS) as rig:
        with open_and_prove(rig):
            pass
        rig.page.wait_for_no_page()
        for n in range(TOO_MANY):
            rig.page.post_live(text=f"while no page was open: {n}")
        with rig.open_page():
            talk(rig)
            prove(rig)


def talk(rig: Rig) -> None:
    """Live messages for a while."""
    over = threading.Event()
    timer = threading.Timer(SECONDS, over.set)
    timer.start()
    while not over.wait(EVERY_SECONDS):
        rig.page.post_live(text="and one more")
