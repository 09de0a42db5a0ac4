"""One connection's conversation: what holds of every ledger beside the messages."""

from __future__ import annotations

import json

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    BatchCommitted,
    CardsStored,
    ClaimUnproven,
    Denied,
    FactsStored,
    NotStored,
    Outcome,
    ProfilesStored,
    ProgressStored,
)
from bright_server.errors import Overloaded
from bright_server.ingest.effects import Submit
from bright_server.ingest.session import ExtensionSession
from tests.bright_server.frames import (
    Frame,
    batch,
    buyer_facts,
    card,
    cards,
    message,
    profile,
    profiles,
    text_of,
)
from tests.bright_server.ingest.talk import (
    assert_serves,
    closed_with,
    only_sent,
    receive,
    sent,
    submitted,
)

TAKEN = ProfilesStored(frozenset({0}))
LEDGER_FRAMES = [profiles(profile(1)), cards(card(1)), buyer_facts(1)]
ACKS = {"contact.profile.ack", "card.rendered.ack", "buyer.facts.ack"}
each_ledger = pytest.mark.parametrize(
    "frame", LEDGER_FRAMES, ids=lambda frame: frame["type"]
)


@each_ledger
@pytest.mark.parametrize(
    "outcome",
    [
        BatchCommitted([1]),
        ProgressStored(),
        ClaimUnproven(),
        NotStored("busy"),
        TAKEN,
        CardsStored(1),
        FactsStored(taken=True),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_ot_87_only_an_outcome_of_its_own_acknowledges(
    opened: ExtensionSession, frame: Frame, outcome: Outcome
) -> None:
    """OT-87: a profile ACK is never a message ACK, nor the other way round."""
    own = {
        "contact.profile.observed": ProfilesStored,
        "card.rendered.observed": CardsStored,
        "buyer.facts.observed": FactsStored,
    }[frame["type"]]
    submit = submitted(receive(opened, frame))

    answer = only_sent(opened.work_done(submit.ticket, outcome))

    if isinstance(outcome, own):
        assert answer["type"] == frame["type"].replace("observed", "ack")
    elif frame["type"] == "card.rendered.observed":
        assert {each["status"] for each in answer["results"]} == {"retry"}
    else:
        assert (answer["code"], answer["retryable"]) == ("internal", True)
        assert answer["requestId"] == frame["requestId"]


@pytest.mark.parametrize("outcome", [TAKEN, CardsStored(1), FactsStored(taken=True)])
def test_ot_87_no_other_ledgers_outcome_confirms_a_message(
    opened: ExtensionSession, outcome: Outcome
) -> None:
    """OT-87: a profile ACK is never a message ACK."""
    submit = submitted(receive(opened, batch(message(1))))

    ack = only_sent(opened.work_done(submit.ticket, outcome))

    assert ack["type"] == "observation.ack"
    assert {each["status"] for each in ack["results"]} == {"retry"}


@each_ledger
def test_ot_60_an_account_of_another_binding_is_out_of_scope(
    opened: ExtensionSession, frame: Frame
) -> None:
    """OT-60: a binding speaks for its own accounts only."""
    error = only_sent(receive(opened, {**frame, "channelAccountId": "other"}))

    assert (error["code"], error["path"]) == ("out_of_scope", "channelAccountId")
    assert error["requestId"] == frame["requestId"]


@each_ledger
def test_ot_60_work_that_was_denied_is_not_acked(
    opened: ExtensionSession, frame: Frame
) -> None:
    """OT-60: fail closed."""
    submit = submitted(receive(opened, frame))

    effects = opened.work_done(submit.ticket, Denied(Standing.REVOKED))

    assert [each["type"] for each in sent(effects)] == ["binding.revoked"]
    assert closed_with(effects) == 4401


@each_ledger
def test_nothing_is_said_on_a_connection_that_is_gone(
    opened: ExtensionSession, frame: Frame
) -> None:
    submit = submitted(receive(opened, frame))
    opened.displaced()

    assert opened.work_done(submit.ticket, TAKEN) == []


def test_too_many_entries_are_refused(opened: ExtensionSession) -> None:
    for frame, path in (
        (profiles(*(profile(number) for number in range(201))), "profiles"),
        (cards(*(card(number) for number in range(201))), "cards"),
    ):
        error = only_sent(receive(opened, frame))

        assert (error["code"], error["path"]) == ("batch_too_large", path)


def test_too_many_in_flight_are_refused_and_messages_go_on(
    opened: ExtensionSession,
) -> None:
    """OT-87: ledgers and messages do not wait for each other."""
    kinds = [profiles(profile(1)), cards(card(1)), buyer_facts(1)]
    tickets = [
        submitted(receive(opened, kinds[number % 3])).ticket for number in range(8)
    ]

    for frame in kinds:
        error = only_sent(receive(opened, frame))
        assert (error["code"], error["retryable"]) == ("too_many_in_flight", True)
    assert_serves(opened)
    opened.work_done(tickets[0], TAKEN)
    submitted(receive(opened, profiles(profile(1))))


@each_ledger
def test_an_overloaded_committer_is_said_and_can_be_tried_again(
    opened: ExtensionSession, frame: Frame
) -> None:
    submit = submitted(receive(opened, frame))

    error = only_sent(opened.work_refused(submit.ticket, Overloaded(10, 5)))

    assert (error["code"], error["retryable"]) == ("overloaded", True)
    assert error["requestId"] == frame["requestId"]


@each_ledger
@pytest.mark.parametrize(
    "part",
    ["1e999", "NaN", "[" * 990 + "]" * 990, '{"a":' * 990 + "1" + "}" * 990],
    ids=["infinite", "not a number", "deep lists", "deep objects"],
)
def test_json_beyond_bounds_costs_no_connection(
    opened: ExtensionSession, frame: Frame, part: str
) -> None:
    field = {"contact.profile.observed": "profile", "buyer.facts.observed": "facts"}
    marked = json.loads(text_of(frame))
    entry = marked.get("profiles", marked.get("cards", [marked]))[0]
    entry[field.get(frame["type"], "content")] = {"a": "part"}

    effects = receive(opened, text_of(marked).replace('"part"', part))

    assert len(effects) == 1
    if not isinstance(effects[0], Submit):
        assert only_sent(effects)["type"] in {"ws.error", *ACKS}
    assert_serves(opened)
