"""One life of the model extension, step by step."""

from __future__ import annotations

import pytest

from extension_harness.model.effects import CloseSocket, Connect, StartTimer
from extension_harness.model.errors import ModelMisuseError
from extension_harness.model.events import (
    Alarm,
    FrameReceived,
    SocketClosed,
    SocketClosing,
)
from extension_harness.model.steps import Json, Transact
from extension_harness.model.truth import Truth
from storage_schema import QuotaExceededError
from storage_schema.onetalk.names import CANDIDATES, MESSAGES
from tests.extension_harness.model.lives import (
    ACCOUNT,
    CONVERSATION,
    Life,
    new_disk,
    observed,
)


def ack_of(batch: Json) -> Json:
    results = [
        {
            "candidateKey": each["candidateKey"],
            "messageId": each["messageId"],
            "status": "confirmed",
            "duplicate": False,
            "sequence": 1,
        }
        for each in batch["messages"]
    ]
    return {
        "type": "observation.ack",
        "requestId": batch["requestId"],
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "results": results,
    }


def test_an_observation_is_answered_after_its_durable_write() -> None:
    """OT-30: while its transaction is to come, nothing is answered and nothing sent."""
    disk, truth = new_disk(), Truth(ACCOUNT)
    life = Life(disk)
    life.welcome()
    life.wake(observed(truth))
    while not disk.records(MESSAGES):
        assert not life.replies()
        assert not life.sent("observation.batch")
        life.effects += life.worker.advance(life.worker.runnable()[0])
    life.run()
    assert life.replies() == [{"stored": True}]
    assert len(life.sent("observation.batch")) == 1


def test_a_full_disk_is_said_and_keeps_nothing() -> None:
    """OT-31: `stored` is false, no candidate is there, nothing is sent."""
    disk, truth = new_disk(), Truth(ACCOUNT)
    life = Life(disk)
    life.welcome()
    life.wake(observed(truth))
    disk.factory.fail_next_commit(QuotaExceededError("full"))
    life.run()
    [reply] = life.replies()
    assert reply["stored"] is False
    assert not disk.records(CANDIDATES)
    assert not life.sent("observation.batch")


def test_a_worker_may_die_at_every_step() -> None:
    """OT-70: whenever it dies, the next life brings up what was stored, once each."""
    steps = 0
    while True:
        disk, truth = new_disk(), Truth(ACCOUNT)
        first = Life(disk, seed=1)
        first.welcome()
        first.wake(observed(truth))
        is_over = first.run(most=steps) < steps
        second = Life(disk, seed=2)
        second.wake(Alarm())
        stored = disk.records(MESSAGES)
        if stored:
            second.welcome()
            [batch] = second.sent("observation.batch")
            assert [each["messageId"] for each in batch["messages"]] == [
                each["messageId"] for each in stored
            ]
        else:
            assert {"stored": True} not in first.replies()
        if is_over:
            break
        steps += 1
    assert steps > 5


def test_only_an_ack_confirms() -> None:
    """OT-18, OT-51: sent is not confirmed; with the socket lost it goes again."""
    disk, truth = new_disk(), Truth(ACCOUNT)
    life = Life(disk)
    socket = life.welcome()
    life.wake(observed(truth))
    life.run()
    life.wake(SocketClosed(socket, 1006))
    assert [each["status"] for each in disk.records(CANDIDATES)] == ["pending_ack"]
    timer = life.asked(StartTimer)[-1]
    life.now_ms += int(timer.ms)
    life.effects += life.worker.timer(timer.timer)
    socket = life.welcome()
    _, again = life.sent("observation.batch")
    life.wake(FrameReceived(socket, ack_of(again)))
    life.run()
    assert [each["status"] for each in disk.records(CANDIDATES)] == ["confirmed"]


def test_what_a_closing_socket_is_given_was_not_sent() -> None:
    """OT-42: a socket that is known to close takes nothing; it all stays pending."""
    disk, truth = new_disk(), Truth(ACCOUNT)
    life = Life(disk)
    life.wake(SocketClosing(life.welcome()))
    life.wake(observed(truth))
    life.run(most=100)  # it tries until it is told that the socket is closed
    assert life.replies() == [{"stored": True}]
    assert not life.sent("observation.batch")


def test_a_revoked_binding_stops_the_next_lives_too() -> None:
    """OT-60: after 4401 nothing connects by itself, in this life or the next."""
    disk, truth = new_disk(), Truth(ACCOUNT)
    life = Life(disk)
    life.wake(SocketClosed(life.welcome(), 4401, "revoked"))
    life.run()
    second = Life(disk, seed=2)
    second.wake(Alarm())
    second.wake(observed(truth))
    second.run()
    assert not second.asked(Connect)
    assert disk.records(CANDIDATES)


def test_equal_lives_do_equal_things() -> None:
    """The same events, chance and clock: the same effects and the same disk."""

    def lived() -> tuple[object, ...]:
        disk, truth = new_disk(), Truth(ACCOUNT)
        life = Life(disk)
        life.welcome()
        life.wake(observed(truth))
        life.run()
        return life.effects, disk.records(MESSAGES), disk.local

    assert lived() == lived()


def test_a_task_that_waits_cannot_be_advanced() -> None:
    """The driver is told of its fault instead of making up an order."""
    life = Life(new_disk())
    [ready] = life.worker.runnable()
    life.run()
    with pytest.raises(ModelMisuseError, match="cannot run now"):
        life.worker.advance(ready)


def test_late_answers_and_timers_change_nothing() -> None:
    """A timer that was stopped, an answer to nothing: no effect, no error."""
    life = Life(new_disk())
    life.welcome()
    assert life.worker.timer(4_711) == []
    assert life.worker.page_answered(4_711, None) == []


def test_a_store_closed_by_force_is_opened_again() -> None:
    """OT-31: the browser closes the store; the next verb opens it, nothing is lost."""
    disk, truth = new_disk(), Truth(ACCOUNT)
    life = Life(disk)
    life.welcome()
    life.wake(observed(truth))
    while not any(isinstance(t.step, Transact) for t in life.worker.runnable()):
        life.effects += life.worker.advance(life.worker.runnable()[0])
    disk.factory.terminate("trade-message-center")
    life.run()
    assert life.replies() == [{"stored": True}]
    assert len(disk.records(MESSAGES)) == 1
    assert not life.asked(CloseSocket)
