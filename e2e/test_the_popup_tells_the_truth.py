"""The popup shows what the stores hold, and says in words what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.proof import open_and_prove, prove
from e2e.rigs import SHORT, running_rig
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.truth import Fault
from extension_harness.rig import ANOMALIES, CANDIDATES, Rig
from extension_harness.tab import Page

POPUP = "pages/popup.html"
TEXT = "(id) => document.getElementById(id).textContent"
SHOWN = "(id) => document.getElementById(id).checkVisibility()"
ROWS = """Array.from(document.querySelectorAll("#conversations li"), (row) => ({
  id: row.dataset.conversation,
  bar: row.querySelector("progress").value,
  words: row.querySelector(".quiet").textContent,
}))"""


@pytest.fixture(scope="module")
def synced(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig whose first sync is over and proven."""
    corpus = Corpus.generate(seed=71, conversations=6, messages=120)
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(chromium, folder, corpus, **SHORT) as made:
        open_and_prove(made)
        yield made


@pytest.fixture
def rig(synced: Rig) -> Iterator[Rig]:
    """The shared rig, with its way to Bright open at the end."""
    yield synced
    synced.proxy.accept()


def text(popup: Page, identifier: str) -> str:
    return str(popup.evaluate(TEXT, identifier))


def wait_for_text(popup: Page, identifier: str, part: str, timeout: float = 60) -> str:
    """Wait until the element's text has this part; gives the whole text."""
    expression = (
        f"(id, part) => {{ const t = ({TEXT})(id); return t.includes(part) && t }}"
    )
    return str(popup.wait_for(expression, identifier, part, timeout=timeout))


def test_after_a_sync_every_number_is_the_stores(rig: Rig) -> None:
    store = rig.extension_store()
    candidates = store.records(CANDIDATES)
    anomalies = store.records(ANOMALIES)
    assert len(anomalies) > 0
    with rig.browser.extension_page(POPUP) as popup:
        wait_for_text(popup, "state-name", "Connected")
        wait_for_text(popup, "confirmed", str(len(candidates)))
        assert text(popup, "state-detail") == rig.page.corpus.account
        assert text(popup, "pending") == "0"
        assert text(popup, "oldest") == "Everything is confirmed."
        assert text(popup, "anomaly-count") == str(len(anomalies))
        chats = {row["conversationId"] for row in candidates}
        assert text(popup, "completed") == f"{len(chats)}/{len(chats)}"
        assert not popup.evaluate(SHOWN, "last-error")
        rows = {row["id"]: row for row in popup.evaluate(ROWS)}
        assert set(rows) == chats
        for chat, row in rows.items():
            count = sum(each["conversationId"] == chat for each in candidates)
            assert row["bar"] == 1
            assert row["words"] == f"Complete, {count} messages"


def test_a_new_anomaly_is_counted_and_named(rig: Rig) -> None:
    """OT-32: what cannot be a message is no secret."""
    before = len(rig.extension_store().records(ANOMALIES))
    with rig.browser.extension_page(POPUP) as popup:
        wait_for_text(popup, "anomaly-count", str(before))
        rig.page.post_invalid(Fault.NO_SENDER)
        wait_for_text(popup, "anomaly-count", str(before + 1))
        wait_for_text(popup, "anomalies", "A message without a sender")
    prove(rig)


def test_without_a_server_it_says_so_and_counts_what_waits(rig: Rig) -> None:
    """OT-62: not connected and why, how much waits and how long; then all is well."""
    with rig.browser.extension_page(POPUP) as popup:
        wait_for_text(popup, "state-name", "Connected")
        rig.proxy.refuse()
        rig.proxy.cut()
        wait_for_text(popup, "state-name", "Not connected")
        for n in range(7):
            rig.page.post_live(text=f"while it is away {n}")
        wait_for_text(popup, "pending", "7")
        wait_for_text(popup, "state-detail", "Bright cannot be reached.")
        wait_for_text(popup, "oldest", "Oldest has waited")
        popup.wait_for(SHOWN, "reconnect")
        row = popup.wait_for(f"{ROWS}.find((row) => row.words.includes('waiting'))")
        assert 0.5 <= row["bar"] < 1
        rig.proxy.accept()
        # Not by the mouse: it may be connected, and the button gone, by itself.
        popup.evaluate("document.getElementById('reconnect').click()")
        wait_for_text(popup, "state-name", "Connected")
        wait_for_text(popup, "pending", "0")
        wait_for_text(popup, "oldest", "Everything is confirmed.")
    prove(rig)


def test_it_goes_on_over_a_worker_that_dies(rig: Rig) -> None:
    with rig.browser.extension_page(POPUP) as popup:
        boot = popup.wait_for("document.getElementById('worker').dataset.bootId")
        rig.worker.stop()
        popup.wait_for(
            "(old) => document.getElementById('worker').dataset.bootId !== old", boot
        )
        wait_for_text(popup, "state-name", "Connected")


def test_a_revoked_binding_is_said_in_words(rig: Rig) -> None:
    """OT-60: the last test here: the binding is gone afterwards."""
    with rig.browser.extension_page(POPUP) as popup:
        wait_for_text(popup, "state-name", "Connected")
        rig.server.revoke(rig.binding)
        wait_for_text(popup, "state-name", "Refused by Bright")
        said = text(popup, "state-detail")
        assert said.startswith("This binding was revoked.")
        assert rig.binding.token not in popup.evaluate("document.body.innerHTML")
