"""Text to frames: the quick way and the slow way say the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from bright_server.errors import FrameRefused
from bright_server.wire.codec import (
    PartialBatch,
    canonical_json,
    decode_request,
    unstorable_path,
)
from bright_server.wire.requests import ObservationBatch
from tests.bright_server.frames import Frame, progress
from tests.bright_server.ingest.test_session_properties import damaged_frames

# An unknown field is ignored; a NUL in it makes the codec look twice at the rest.
SLOWLY = {"unknownField": "\x00"}


def read(frame: Frame) -> object:
    """What the codec makes of a frame, in a form that both ways share."""
    try:
        found = decode_request(json.dumps(frame))
    except FrameRefused as error:
        return (error.code, error.path, error.request_id)
    if isinstance(found, PartialBatch):
        return (found.envelope.request_id, list(found.entries))
    if isinstance(found, ObservationBatch):
        return (found.request_id, found.messages)
    return found


@given(damaged_frames())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_both_ways_of_reading_a_frame_agree(frame: Frame) -> None:
    assert read(frame) == read(frame | SLOWLY)


@pytest.mark.parametrize("cursor", [1.5, True, "", {"a": 1}, [1], -1])
def test_the_path_of_a_field_of_several_types_is_the_fields(cursor: object) -> None:
    with pytest.raises(FrameRefused) as refused:
        decode_request(json.dumps(progress(nextTimeStamp=cursor)))

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
