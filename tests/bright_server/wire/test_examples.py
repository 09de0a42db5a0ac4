"""The golden frames that Python and JavaScript both read."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from bright_server.wire.answers import ExtensionAnswer
from bright_server.wire.batches import WholeBatch
from bright_server.wire.codec import PartialBatch, decode_request
from bright_server.wire.contract import ANSWERS, REQUESTS
from bright_server.wire.ledger_codec import (
    CardsFrame,
    FactsFrame,
    LedgerFrame,
    ProfilesFrame,
)

EXAMPLES = Path(__file__).parents[2] / "wire_examples"
FILES = sorted(EXAMPLES.glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    example: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return example


def test_every_frame_of_the_contract_has_an_example_and_none_is_left_over() -> None:
    assert {path.stem for path in FILES} == {*REQUESTS, *ANSWERS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_named_and_directed_as_its_frame(path: Path) -> None:
    example = read(path)

    assert example["channel"] == "/v1/extension"
    assert example["frame"]["type"] == path.stem
    assert example["direction"] == (
        "toServer" if path.stem in REQUESTS else "toExtension"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_a_frame_that_nothing_is_wrong_with(path: Path) -> None:
    example = read(path)
    text = json.dumps(example["frame"])

    if example["direction"] == "toServer":
        frame = decode_request(text.encode())
        assert not isinstance(frame, PartialBatch)
        if isinstance(frame, FactsFrame):
            assert not isinstance(frame.entry, str)
        if isinstance(frame, ProfilesFrame | CardsFrame):
            assert not any(isinstance(each, str) for each in frame.entries)
        read_as = (
            frame.envelope if isinstance(frame, WholeBatch | LedgerFrame) else frame
        )
        assert read_as.type == path.stem
    else:
        answer = TypeAdapter[ExtensionAnswer](ExtensionAnswer).validate_json(text)
        left_out = path.stem != "conversation.known"
        assert answer.model_dump(exclude_none=left_out) == example["frame"]
