"""The order of observation is the order at Bright, whatever waited meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from e2e.proof import open_and_prove, prove
from e2e.rigs import SHORT
from extension_harness.page.records import LedgerMessage
from extension_harness.rig import MESSAGES, Rig
from extension_harness.waiting import wait_until

HOUR_MS = 3_600_000


@pytest.mark.corpus(seed=51, conversations=3, messages=30)
def test_a_backlog_goes_before_what_is_said_while_it_drains(rig: Rig) -> None:
    """OT-42, known bug 12: first receipts in the order of observation.

    The history that is read when the way is back holds the backlog's rows again, too:
    the one known row costs none of the others of its page (known bug 34).
    """
    rig.configure(**SHORT, maxBatchMessages=3, maxInFlightBatches=1)
    open_and_prove(rig)
    rig.proxy.refuse()
    rig.proxy.cut()
    before = len(rig.proxy.seen("observation.batch"))
    posted = say(rig, "offline", 20)
    wait_until_stored(rig, posted)
    rig.proxy.slow(0.05)
    rig.proxy.accept()
    rig.proxy.wait_for("observation.batch", before + 2, timeout=60)
    posted += say(rig, "while it drains", 20)
    prove(rig)
    for conversation, expected in by_conversation(posted).items():
        assert first_receipts(rig, conversation, expected) == expected
        assert by_sequence(rig, conversation, expected) == expected


@pytest.mark.corpus(seed=52, conversations=2, messages=20)
def test_equal_and_backdated_times_cost_no_message(rig: Rig) -> None:
    """Known bug 28: ninety of one millisecond, read back in pages of forty; then ten
    that say they are an hour older than all of them."""
    rig.configure(**SHORT, historyPageSize=40)
    chat = rig.page.corpus.conversations[0].conversation_id
    first = rig.page.post_live(chat, "the first of its millisecond")
    for n in range(89):
        rig.page.post_live(chat, f"equal {n}", sent_at_ms=first.sent_at_ms)
    rig.open_page()
    prove(rig)
    for n in range(10):
        rig.page.post_live(
            chat, f"backdated {n}", sent_at_ms=first.sent_at_ms - HOUR_MS
        )
    prove(rig)


@pytest.mark.corpus(seed=53, conversations=3, messages=60)
def test_a_page_of_history_with_known_rows_is_taken_whole(rig: Rig) -> None:
    """OT-01, known bug 34: what came live while Bright was away is in it already."""
    rig.configure(**SHORT)
    rig.proxy.refuse()
    rig.open_page()
    posted = say(rig, "before any history was read", 6)
    wait_until_stored(rig, posted)
    stored = len(rig.extension_store().records(MESSAGES))
    assert stored < len(rig.page.ledger.expected()), "no history left to read"
    rig.proxy.accept()
    prove(rig, 120)  # the alarm, which nobody shortens here, may be what goes on


def say(rig: Rig, text: str, count: int) -> list[LedgerMessage]:
    chats = rig.page.corpus.conversations[:2]
    return [
        rig.page.post_live(chats[n % len(chats)].conversation_id, f"{text} {n}")
        for n in range(count)
    ]


def wait_until_stored(rig: Rig, posted: Iterable[LedgerMessage]) -> None:
    wanted = {each.message_id for each in posted}

    def probe() -> bool:
        rows = rig.extension_store().records(MESSAGES)
        return wanted <= {row["messageId"] for row in rows}

    wait_until(probe, 40, "the observations to be stored", every=0.2)


def by_conversation(posted: Iterable[LedgerMessage]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in posted:
        found.setdefault(each.conversation_id, []).append(each.message_id)
    return found


def first_receipts(rig: Rig, conversation: str, wanted: list[str]) -> list[str]:
    """These ids in the order in which Bright was sent each for the first time."""
    order: dict[str, None] = {}
    for frame in rig.proxy.seen("observation.batch"):
        body: dict[str, Any] = frame.body or {}
        if body["conversationId"] == conversation:
            order.update(dict.fromkeys(each["messageId"] for each in body["messages"]))
    return [each for each in order if each in wanted]


def by_sequence(rig: Rig, conversation: str, wanted: list[str]) -> list[str]:
    rows = [
        row
        for row in rig.server.dump().messages
        if row["conversationId"] == conversation and row["messageId"] in wanted
    ]
    return [row["messageId"] for row in sorted(rows, key=lambda row: row["sequence"])]
