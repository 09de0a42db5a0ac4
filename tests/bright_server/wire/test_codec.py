"""Text to frames: the quick way and the slow way say the same."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bright_server.errors import FrameRefused
from bright_server.wire.answers import ObservationAck
from bright_server.wire.batches import Result, WholeBatch, ack_text
from bright_server.wire.codec import (
    PartialBatch,
    Request,
    decode_request,
    decode_slowly,
    encode,
)
from bright_server.wire.text import canonical_json, unstorable_path
from tests.bright_server.frames import (
    ACCOUNT,
    FIRST_ID,
    Frame,
    batch,
    message,
    progress,
)
from tests.bright_server.ingest.test_session_properties import damaged_frames


def read(frame: Frame, decode: Callable[[bytes], Request]) -> object:
    """What the codec makes of a frame, in a form that both ways share."""
    try:
        found = decode(json.dumps(frame).encode())
    except FrameRefused as error:
        return (error.code, error.path, error.request_id)
    if isinstance(found, PartialBatch | WholeBatch):
        envelope = found.envelope
        return (
            envelope.request_id,
            envelope.channel_account_id,
            envelope.conversation_id,
            envelope.received_at_ms,
            len(envelope.messages),
            list(found.entries),
        )
    return found


@given(damaged_frames())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_both_ways_of_reading_a_frame_agree(frame: Frame) -> None:
    assert read(frame, decode_request) == read(frame, decode_slowly)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"text": None},
        {"text": "a\x00b"},
        {"text": r"a\u0000b"},
        {"candidateKey": "a\x00b"},
        {"conversationId": "other\x00"},
        {"senderId": "half \ud83d"},
        {"text": "two halves \ud83d\ude00"},
        {"unknown": "half \ud83d and \x00"},
        {"content": {"a\x00": 1}},
        {"raw": ["\x00"]},
        {"raw": [1e300, 2**80, -0.0, 1e15, float("inf")]},
        {"raw": 0},
        {"sentAtMs": 1.0},
        {"sentAtMs": True},
        {"sentAtMs": 8_640_000_000_000_001},
        {"kind": "k" * 65},
        {"content": []},
        {"quote": {"id": 1}, "recall": {}},
    ],
)
def test_both_ways_agree_on_what_is_at_an_edge(changes: dict[str, object]) -> None:
    frame = batch(message(1), message(2) | changes)
    assert read(frame, decode_request) == read(frame, decode_slowly)


def test_a_right_batch_is_read_at_once_and_column_by_column() -> None:
    found = decode_request(json.dumps(batch(message(1), message(2))).encode())
    assert isinstance(found, WholeBatch)
    assert found.columns.message_ids == (str(FIRST_ID + 1), str(FIRST_ID + 2))
    assert found.is_plain


results = st.builds(
    Result,
    candidate_key=st.text(),
    message_id=st.text(),
    status=st.sampled_from(["confirmed", "conflict", "rejected", "retry"]),
    duplicate=st.booleans(),
    sequence=st.none() | st.integers(1, 2**53),
    code=st.none() | st.just("too_large"),
)


@given(st.text(), st.lists(results, max_size=4))
def test_an_ack_says_what_its_model_says(key: str, said: list[Result]) -> None:
    text = ack_text("1", ACCOUNT, key, said)
    modelled = ObservationAck.model_validate_json(text)
    assert json.loads(text) == json.loads(encode(modelled))
    assert [each["messageId"] for each in modelled.results] == [
        each.message_id for each in said
    ]


@pytest.mark.parametrize("cursor", [1.5, True, "", {"a": 1}, [1], -1])
def test_the_path_of_a_field_of_several_types_is_the_fields(cursor: object) -> None:
    with pytest.raises(FrameRefused) as refused:
        decode_request(json.dumps(progress(nextTimeStamp=cursor)).encode())

    assert refused.value.path == "nextTimeStamp"


def test_equal_json_has_one_spelling() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})
    assert canonical_json(2**80) == str(2**80)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": [number]})


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": ["x", {"b": "y"}]}, None),
        ({"a": ["x", {"b": "\ud800"}]}, "a.1.b"),
        ({"a": "x\x00"}, "a"),
        ({"a": {"\udc00": 1}}, "a"),
        ("\ud83d\ude00", ""),  # two halves that no decoder has joined
        ("\U0001f600", None),
    ],
)
def test_what_cannot_be_stored_is_found_at_its_place(
    value: object, path: str | None
) -> None:
    assert unstorable_path(value) == path
