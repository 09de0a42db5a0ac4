"""The body of `POST /v1/commands`."""

import json
from typing import Any

import pytest

from bright_server.errors import FrameRefused
from bright_server.wire.orders import order_text, problem_text, read_order

SEND: dict[str, Any] = {
    "name": "message.send",
    "arguments": {"channelAccountId": "1", "conversationId": "2", "text": "hi"},
    "timeoutMs": 5_000,
}


def test_an_order_reads_as_it_was_written() -> None:
    order = read_order(order_text("message.send", SEND["arguments"], 5_000).encode())

    assert (order.name, order.timeout_ms) == ("message.send", 5_000)
    assert order.arguments.model_dump(by_alias=True) == SEND["arguments"]


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"name": "message.burn"}, "invalid_order", "name"),
        ({"timeoutMs": "5"}, "invalid_order", "timeoutMs"),
        ({"arguments": []}, "invalid_order", "arguments"),
        ({"arguments": {}}, "invalid_order", "arguments.channelAccountId"),
        (
            {"arguments": {**SEND["arguments"], "text": ""}},
            "invalid_order",
            "arguments.text",
        ),
        (
            {"arguments": {**SEND["arguments"], "text": "x" * 20_001}},
            "invalid_order",
            "arguments.text",
        ),
        (
            {"arguments": {**SEND["arguments"], "text": "a\x00"}},
            "invalid_order",
            "arguments.text",
        ),
        (
            {
                "name": "conversation.sync",
                "arguments": {"channelAccountId": "1", "rebuild": True},
            },
            "invalid_order",
            "arguments",
        ),
    ],
    ids=str,
)
def test_a_wrong_order_is_refused_with_its_path(
    changes: dict[str, object], code: str, path: str
) -> None:
    with pytest.raises(FrameRefused) as refused:
        read_order(json.dumps({**SEND, **changes}).encode())

    assert (refused.value.code, refused.value.path) == (code, path)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_said_so(body: bytes) -> None:
    with pytest.raises(FrameRefused) as refused:
        read_order(body)

    assert refused.value.code == "malformed_json"


def test_a_problem_says_what_rfc_9457_asks_for() -> None:
    """RFC 9457, section 3.1: type, title, status, detail; and a code of ours."""
    problem = json.loads(problem_text(400, "invalid_order", "no name", "name"))

    assert problem == {
        "type": "urn:bright:problem:invalid_order",
        "title": "invalid order",
        "status": 400,
        "detail": "no name",
        "code": "invalid_order",
        "path": "name",
    }
