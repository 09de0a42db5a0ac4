"""What an increment finds goes nowhere until it has met its anchor.

One rig for both: a synced account whose page was closed while somebody wrote. The page
is then read so slowly that a test can stand in the middle of the scan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.operators import ENVIRONMENT, Told, command
from e2e.proof import open_and_prove, prove, prove_listed
from e2e.rigs import SHORT, running_rig, shorten_alarm
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import ANOMALIES, CANDIDATES, CHECKPOINTS, Rig
from extension_harness.waiting import wait_until

UNSEEN = 48
PAGE_SIZE = 6
SLOW_MS = 2_000
FOR_EVER_MS = 600_000
NOT_FOUND = "incremental_anchor_not_found"


@pytest.fixture(scope="module")
def synced(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig whose first sync is over and proven, its page closed."""
    corpus = Corpus.generate(seed=41, conversations=3, messages=45, messy=frozenset())
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(
        chromium, folder, corpus, environment=ENVIRONMENT, **SHORT
    ) as made:
        with open_and_prove(made):
            pass
        made.page.wait_for_no_page()
        shorten_alarm(made, 1)
        yield made


@pytest.fixture
def rig(synced: Rig) -> Iterator[Rig]:
    """The shared rig, with no page open before and after."""
    yield synced
    synced.configure(**SHORT, historyPageSize=50)
    synced.page.wait_for_no_page()


def test_history_and_live_wait_for_the_anchor_over_a_restart(rig: Rig) -> None:
    """OT-41, OT-42, OT-44 to OT-46, OT-70: then they go together, the oldest first.

    The worker dies in the middle of the scan; the next one asks the page for what lies
    before the stored cursor, not for the newest.
    """
    chat = rig.page.corpus.conversations[0].conversation_id
    said = [
        rig.page.post_live(chat, f"said unseen {n}").message_id for n in range(UNSEEN)
    ]
    sent = len(rig.proxy.seen("observation.batch"))
    rig.configure(historyPaceMs=SLOW_MS, historyPageSize=PAGE_SIZE)
    with rig.open_page():
        wait_until(lambda: is_midway(rig, chat), 40, "the scan", every=0.05)
        rig.configure(historyPaceMs=FOR_EVER_MS)
        said += [rig.page.post_live(chat, f"live {n}").message_id for n in range(2)]
        wait_until(lambda: set(said[-2:]) <= states(rig, chat).keys(), 40, "them")
        waiting = {each: states(rig, chat).get(each) for each in said}
        assert set(waiting.values()) == {"awaiting_anchor", None}
        assert None in waiting.values(), "the scan was not in its middle"
        rig.worker.stop()
        lives = rig.proxy.connections
        stood = checkpoint(rig, chat)
        assert (stood["syncMode"], stood["anchorState"]) == ("incremental", "awaiting")
        assert sent_of(rig, chat, sent) == []
        assert not set(said) & at_bright(rig)

        rig.configure(**SHORT)
        since_ms = int(time.time() * 1000)
        rig.worker.restart()
        prove_listed(rig, since_ms)

        [after, *_] = [
            frame.body
            for frame in rig.proxy.seen("history.progress")
            if frame.connection > lives
            and frame.body is not None
            and frame.body["conversationId"] == chat
        ]
        assert after["page"] == stood["pages"] + 1
        assert after["nextTimeStamp"] < stood["nextTimeStamp"], "begun at the newest"
        first_receipts = list(dict.fromkeys(sent_of(rig, chat, sent)))
        assert first_receipts == said
        rig.proxy.refuse()
        rig.proxy.cut()
        later = rig.page.post_live(chat, "after the increment").message_id
        wait_until(lambda: later in states(rig, chat), 40, "it")
        assert states(rig, chat)[later] == "pending_ack"
        rig.proxy.accept()
        prove(rig)


def test_without_its_anchor_all_of_it_is_held_back_and_that_is_recorded(
    rig: Rig,
) -> None:
    """OT-41: neither sent nor claimed; a rebuild, asked for by somebody, sends it all.

    The page has lost the anchor's message, as it does with some recalls.
    """
    chat = rig.page.corpus.conversations[1].conversation_id
    anchor = checkpoint(rig, chat)["anchorMessageId"]
    rig.page.vanish(anchor)
    said = [rig.page.post_live(chat, f"beyond it {n}").message_id for n in range(4)]
    sent, claimed = (
        len(rig.proxy.seen(kind)) for kind in ("observation.batch", "sync.complete")
    )
    with rig.open_page():
        wait_until(
            lambda: checkpoint(rig, chat)["result"] == NOT_FOUND, 40, "the end of it"
        )
        said.append(rig.page.post_live(chat, "and a live one").message_id)
        wait_until(lambda: said[-1] in states(rig, chat), 40, "the live one")
        neighbour = rig.page.corpus.conversations[2].conversation_id
        other = rig.page.post_live(neighbour, "elsewhere").message_id
        wait_until(lambda: other in at_bright(rig), 40, "what is not held back")

        assert {states(rig, chat)[each] for each in said} == {"awaiting_anchor"}
        # What is new is a reason to look once more: in between it awaits its anchor.
        wait_until(
            lambda: checkpoint(rig, chat)["anchorState"] == "not_found", 40, "its state"
        )
        stands = checkpoint(rig, chat)
        assert stands["anchorMessageId"] == anchor
        assert stands["phase"] != "completed"
        found = rig.extension_store().records(ANOMALIES)
        assert [(row["code"], row["conversationId"]) for row in found] == [
            (NOT_FOUND, chat)
        ]
        assert sent_of(rig, chat, sent) == []
        claims = bodies(rig, "sync.complete", claimed)
        assert chat not in {body["conversationId"] for body in claims}
        assert not set(said) & at_bright(rig)
        with rig.browser.extension_page("pages/popup.html") as popup:
            popup.wait_for(
                "document.querySelector('#anomalies').textContent"
                ".includes('without its last known message')"
            )

        told = command(rig, "sync", f"--conversation={chat}", "--rebuild")
        assert told == Told("done", None, 0)
        wait_until(lambda: set(said) <= at_bright(rig), 40, "all of it")


def checkpoint(rig: Rig, chat: str) -> Mapping[str, Any]:
    rows = rig.extension_store().records(CHECKPOINTS)
    return next(row for row in rows if row["conversationId"] == chat)


def is_midway(rig: Rig, chat: str) -> bool:
    """An incremental scan has stored a page, and has further pages to read."""
    row = checkpoint(rig, chat)
    return row["anchorState"] == "awaiting" and row["nextTimeStamp"] is not None


def states(rig: Rig, chat: str) -> dict[str, str]:
    rows = rig.extension_store().records(CANDIDATES)
    return {
        row["messageId"]: row["status"] for row in rows if row["conversationId"] == chat
    }


def bodies(rig: Rig, kind: str, start: int) -> list[Mapping[str, Any]]:
    """What the frames of a kind said, from the number ``start`` on."""
    return [frame.body or {} for frame in rig.proxy.seen(kind)[start:]]


def sent_of(rig: Rig, chat: str, start: int) -> list[str]:
    """The messages of a conversation that went up since then, in their order."""
    return [
        message["messageId"]
        for body in bodies(rig, "observation.batch", start)
        if body["conversationId"] == chat
        for message in body["messages"]
    ]


def at_bright(rig: Rig) -> set[str]:
    return {row["messageId"] for row in rig.server.dump().messages}
