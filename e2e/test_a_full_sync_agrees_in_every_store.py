"""A whole account, messy as the real page is: every store agrees, record by record."""

from __future__ import annotations

from collections import Counter

import pytest

from e2e.proof import open_and_prove, prove
from e2e.rigs import SHORT
from extension_harness.page.messy import DEFAULT_CODES
from extension_harness.page.truth import Fault
from extension_harness.rig import ANOMALIES, MESSAGES, Rig

pytestmark = pytest.mark.usefixtures("outage")  # it lasts meanwhile


@pytest.mark.tripwired
@pytest.mark.corpus(seed=2, conversations=40, messages=1_500)
def test_every_messy_input_of_forty_conversations(rig: Rig) -> None:
    """OT-30 to OT-32, OT-40, OT-43: valid ones confirmed once, invalid ones noted."""
    assert [code for code in DEFAULT_CODES if not rig.page.corpus.carriers(code)] == []
    rig.configure(**SHORT)
    rig.open_page()
    rig.proxy.wait_for("observation.ack", 5, timeout=60)
    live = [rig.page.post_live() for _ in range(10)]
    live += [
        rig.page.post_live(chat.conversation_id, direction="outbound")
        for chat in rig.page.corpus.conversations[:10]
    ]
    for fault in set(Fault) - {Fault.FOREIGN}:  # that one only a history can show
        rig.page.post_invalid(fault)
    rig.page.repeat(live[0].message_id)

    verdict = prove(rig, 180)

    assert verdict.confirmed >= 1_500 + len(live)
    assert verdict.conversations == 40
    codes = {row["code"] for row in rig.extension_store().records(ANOMALIES)}
    assert codes >= {fault.value for fault in Fault}
    assert_told_in_order(rig)


@pytest.mark.corpus(seed=9, conversations=200, messages=10_000)
@pytest.mark.timeout(900)
def test_two_hundred_conversations_and_ten_thousand_messages(rig: Rig) -> None:
    """The size of a real account."""
    rig.configure(**SHORT)
    rig.open_page()
    verdict = prove(rig, 600)
    assert verdict.confirmed >= 10_000
    assert verdict.conversations == 200


@pytest.mark.corpus(seed=10, conversations=6, messages=120)
def test_what_came_while_no_page_was_open_goes_up_once_the_anchor_is_met(
    rig: Rig,
) -> None:
    """OT-41, OT-42, OT-44: an increment goes once it has met its anchor."""
    rig.configure(**SHORT)
    open_and_prove(rig).close()
    rig.page.wait_for_no_page()
    stored = len(rig.extension_store().records(MESSAGES))
    chats = rig.page.corpus.conversations[:4]
    for n in range(80):
        rig.page.post_live(chats[n % 4].conversation_id, f"said unseen {n}")
    sent = len(rig.proxy.seen("observation.batch"))
    assert len(rig.extension_store().records(MESSAGES)) == stored

    rig.open_page()
    prove(rig)

    batches = rig.proxy.seen("observation.batch")[sent:]
    modes = Counter((frame.body or {})["mode"] for frame in batches)
    assert set(modes) == {"incremental"}


def assert_told_in_order(rig: Rig) -> None:
    """OT-44, OT-50: progress before the claim, the claim before the anchor."""
    ended: set[str] = set()
    claimed: set[str] = set()
    for frame in rig.proxy.seen():
        body = frame.body or {}
        if frame.kind == "history.progress" and body["historyComplete"]:
            assert body["nextTimeStamp"] is None
            ended.add(body["conversationId"])
        elif frame.kind == "sync.complete":
            assert body["conversationId"] in ended
            claimed.add(body["conversationId"])
        elif frame.kind == "anchor.snapshot":
            assert {each["conversationId"] for each in body["anchors"]} <= claimed
    assert claimed == {each.conversation_id for each in rig.page.ledger.expected()}
