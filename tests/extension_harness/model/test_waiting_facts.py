"""Facts of a buyer that were there before their conversation was met."""

from __future__ import annotations

from extension_harness.model.disk import Disk
from extension_harness.model.effects import PageRequest
from extension_harness.model.events import PageTold
from extension_harness.model.steps import Json
from extension_harness.model.truth import Truth
from storage_schema.onetalk.names import BUYER_FACTS, CHECKPOINTS
from tests.extension_harness.model.lives import (
    ACCOUNT,
    CONVERSATION,
    NOW_MS,
    Life,
    new_disk,
    observed,
)


def with_facts() -> Disk:
    """A disk with facts of a conversation that has no checkpoint."""
    disk = new_disk()
    life = Life(disk)
    entry = {"conversationId": CONVERSATION, "facts": {"country": "DE"}}
    life.wake(
        PageTold(
            1, {"channelAccountId": ACCOUNT, "ledger": "facts", "entries": [entry]}
        )
    )
    life.run()
    assert len(disk.records(BUYER_FACTS)) == 1
    assert not disk.records(CHECKPOINTS)
    return disk


def told(life: Life) -> list[Json]:
    return life.sent("buyer.facts.observed")


def test_facts_go_up_when_the_list_names_their_conversation() -> None:
    """OT-30, OT-82: as soon as it has a checkpoint, on the connection that is there."""
    life = Life(with_facts(), seed=2)
    life.welcome()
    assert not told(life)
    row = {"conversationId": CONVERSATION, "latestMessageAtMs": NOW_MS}
    for asked in life.asked(PageRequest):
        answer = {"conversations": [row], "isWhole": True}
        life.effects += life.worker.page_answered(
            asked.request, {"pageId": "page-1", "answer": answer}
        )
    life.run()

    assert [each["conversationId"] for each in told(life)] == [CONVERSATION]


def test_facts_go_up_when_a_message_meets_their_conversation() -> None:
    """OT-30, OT-82: a live message makes the checkpoint, and the facts go, too."""
    life = Life(with_facts(), seed=2)
    life.welcome()
    assert not told(life)
    life.wake(observed(Truth(ACCOUNT)))
    life.run()

    assert [each["conversationId"] for each in told(life)] == [CONVERSATION]
