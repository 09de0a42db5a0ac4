"""What stores and logs keep of a commit, as bytes (MS-11, MS-21, CL-10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from bright_server.commit.encoding import (
    decode_intent,
    decode_record,
    encode_frozen,
    encode_record,
    envelope_of,
    record_of,
)
from bright_server.commit.identity import identity_digest
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitState,
    Coordinates,
    FrozenDelivery,
    OutboxPublication,
    ReserveCandidate,
)
from bright_server.errors import CommitUnreadable
from bright_server.fanout.contract import LogPosition
from bright_server.testing.sends import DELIVERY, candidate_of, sending
from bright_server.wire.text import canonical_json, parse_json
from tests.bright_server.commit.requests import candidates, deliveries, requests


def intent_of(
    request: AuthenticatedSend,
    candidate: ReserveCandidate,
    delivery: FrozenDelivery,
    state: CommitState = CommitState.RESERVED,
) -> CommitIntent:
    place = Coordinates(request.conversation, candidate.message_id, 7)
    return CommitIntent(
        request.key,
        identity_digest(request),
        place,
        record_of(request, candidate),
        delivery,
        state,
        OutboxPublication(LogPosition("outbox", 3))
        if state is CommitState.OUTBOXED
        else None,
    )


@given(requests, candidates, deliveries, st.sampled_from(list(CommitState)[:3]))
@trying(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_intent_is_read_back_whole(
    request: AuthenticatedSend,
    candidate: ReserveCandidate,
    delivery: FrozenDelivery,
    state: CommitState,
) -> None:
    """MS-21: what is frozen, with what a store keeps beside it, is every fact."""
    intent = intent_of(request, candidate, delivery, state)
    frozen = encode_frozen(intent.key, intent.record, intent.delivery)
    assert intent == decode_intent(
        frozen,
        intent.identity,
        intent.coordinates.sequence,
        intent.state,
        intent.publication,
    )
    assert decode_record(encode_record(intent.record)) == intent.record


@given(requests, candidates, deliveries)
@trying(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_envelope_carries_the_frozen_record_byte_for_byte(
    request: AuthenticatedSend, candidate: ReserveCandidate, delivery: FrozenDelivery
) -> None:
    """CL-10: and is the same from every state, so a retry publishes the same bytes."""
    intent = intent_of(request, candidate, delivery)
    envelope = envelope_of(intent)
    record = encode_record(intent.record)
    assert b'"record":' + record in envelope.body
    assert b'"record":' + record in encode_frozen(
        intent.key, intent.record, intent.delivery
    )
    for state in list(CommitState)[:3]:
        assert envelope_of(intent_of(request, candidate, delivery, state)) == envelope


@given(st.data())
@trying(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_damaged_is_said_to_be_unreadable(data: st.DataObject) -> None:
    """MS-30: whatever is missing or of another kind, it is the store's own error."""
    intent = intent_of(sending(), candidate_of(sending()), DELIVERY)
    frozen: Any = parse_json(
        encode_frozen(intent.key, intent.record, intent.delivery).decode()
    )
    path = data.draw(
        st.sampled_from(
            [["format"], ["key"], ["record"], ["delivery"], ["record", "content"],
             ["record", "conversation"], ["key", "sender"]]
        )
    )  # fmt: skip
    part = frozen
    for name in path[:-1]:
        part = part[name]
    if isinstance(part[path[-1]], str) or data.draw(st.booleans()):
        del part[path[-1]]
    else:
        part[path[-1]] = data.draw(st.sampled_from([None, 7, {"a": 1}]))
    damaged = canonical_json(frozen).encode()
    with pytest.raises(CommitUnreadable):
        decode_intent(damaged, b"", 1, CommitState.RESERVED, None)


@pytest.mark.parametrize(
    "bytes_", [b"", b"\xff", b"[]", b"7", b"null", b'{"format":2}', b"{" * 100]
)
def test_what_is_no_intent_is_said_to_be_unreadable(bytes_: bytes) -> None:
    """MS-30: neither is it a record."""
    with pytest.raises(CommitUnreadable):
        decode_intent(bytes_, b"", 1, CommitState.RESERVED, None)
    with pytest.raises(CommitUnreadable):
        decode_record(bytes_)


def test_an_intent_of_another_format_is_said_to_be_unreadable() -> None:
    """MS-21, MS-30: though all else is as it should be; it is not guessed at."""
    intent = intent_of(sending(), candidate_of(sending()), DELIVERY)
    frozen = encode_frozen(intent.key, intent.record, intent.delivery)
    later = frozen.replace(b'"format":1', b'"format":2')
    assert later != frozen
    with pytest.raises(CommitUnreadable, match="its format is 2"):
        decode_intent(later, b"", 1, CommitState.RESERVED, None)


def test_an_observation_is_called_by_its_scope_in_the_log() -> None:
    """CL-10, OT-01: a page's id is unique in its conversation only."""
    request = sending()
    key = replace(request.key, origin="observed", tenant="a", sender="c")
    observed = replace(request, key=key)
    candidate = candidate_of(request)
    assert envelope_of(intent_of(request, candidate, DELIVERY)).key == (
        candidate.message_id
    )
    assert envelope_of(intent_of(observed, candidate, DELIVERY)).key == (
        '["a","c","m1"]'
    )
