"""A claim that nobody answers is said again while the worker lives (OT-50, OT-51)."""

from __future__ import annotations

from extension_harness.model.disk import Disk
from extension_harness.model.effects import PageRequest, StartTimer, StopTimer
from extension_harness.model.events import FrameReceived, SocketClosed
from extension_harness.model.steps import Json
from tests.extension_harness.model.lives import (
    ACCOUNT,
    CONVERSATION,
    NOW_MS,
    Life,
)
from tests.extension_harness.model.test_worker import ack_of

RETRY_MS = 5_000
ROW: Json = {
    "messageId": "m1",
    "conversationId": CONVERSATION,
    "senderId": "buyer",
    "direction": "inbound",
    "sentAtMs": NOW_MS,
    "kind": "text",
    "text": "hello",
    "surface": "test",
}
ANSWERS: dict[str, Json] = {
    "conversations": {
        "conversations": [
            {"conversationId": CONVERSATION, "latestMessageAtMs": NOW_MS}
        ],
        "isWhole": True,
    },
    "history": {"page": {"observations": [ROW], "hasMore": False}},
}


def claimed() -> tuple[Life, int]:
    """A life whose first claim is said and has no answer; and its socket."""
    disk = Disk(
        {
            "serverUrl": "ws://127.0.0.1:1",
            "bindingToken": "brt_secret",
            "settings": {"claimRetryMs": RETRY_MS},
        }
    )
    life = Life(disk)
    socket = life.welcome()
    while not life.sent("observation.batch"):
        answer_page(life)
    life.wake(FrameReceived(socket, ack_of(life.sent("observation.batch")[0])))
    life.run()
    assert len(life.sent("sync.complete")) == 1
    return life, socket


def answer_page(life: Life) -> None:
    """Answers what the page is asked, or lets the next pause be over."""
    asked = life.asked(PageRequest)
    life.effects = [each for each in life.effects if not isinstance(each, PageRequest)]
    for each in asked:
        answer = {"pageId": "page-1", "answer": ANSWERS[each.kind]}
        life.effects += life.worker.page_answered(each.request, answer)
    if not asked:
        [pause] = [each for each in due(life) if each.ms == 300]
        life.effects += life.worker.timer(pause.timer)
    life.run()


def due(life: Life) -> list[StartTimer]:
    """Timers that are started and not stopped."""
    stopped = {each.timer for each in life.asked(StopTimer)}
    return [each for each in life.asked(StartTimer) if each.timer not in stopped]


def pass_claim_retry(life: Life) -> None:
    """Lets the wait after a claim be over, if there is one."""
    life.now_ms += RETRY_MS
    [timer] = [each for each in due(life) if each.ms == RETRY_MS][-1:]
    life.effects += life.worker.timer(timer.timer)
    life.run()


def test_an_unanswered_claim_is_said_again_after_its_time() -> None:
    """OT-50, OT-51: neither an alarm nor a new connection has to come for it."""
    life, _ = claimed()
    pass_claim_retry(life)
    assert len(life.sent("sync.complete")) == 2
    pass_claim_retry(life)
    assert len(life.sent("sync.complete")) == 3


def test_an_answered_claim_is_not_said_again() -> None:
    """OT-50: with its anchor it is over, and nothing waits for it any more."""
    life, socket = claimed()
    anchor = {
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "latestMessageId": "m1",
    }
    snapshot = {"type": "anchor.snapshot", "anchors": [anchor]}
    life.wake(FrameReceived(socket, snapshot))
    life.run()
    for timer in [each for each in due(life) if each.ms == RETRY_MS]:
        life.now_ms += RETRY_MS
        life.effects += life.worker.timer(timer.timer)
        life.run()
    assert len(life.sent("sync.complete")) == 1


def test_nothing_is_claimed_by_a_timer_without_a_connection() -> None:
    """OT-62: with the connection its timer goes; the next connection claims again."""
    life, socket = claimed()
    life.wake(SocketClosed(socket, 1006))
    life.run()
    assert not [each for each in due(life) if each.ms == RETRY_MS]
