"""The proxy's reading of WebSocket bytes, held against another implementation's."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from extension_harness.network.websocket_frames import MessageCutter, WireMessage


def cut(data: bytes, sizes: list[int]) -> list[WireMessage]:
    """Feed the bytes in pieces of these sizes, again and again."""
    cutter = MessageCutter()
    found: list[WireMessage] = []
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        found += cutter.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    return found


@settings(deadline=None)  # byte by byte through 70 kB takes its time
@given(
    lengths=st.lists(
        st.one_of(st.integers(0, 300), st.sampled_from([65_535, 65_536, 70_000])),
        max_size=5,
    ),
    sizes=st.lists(st.sampled_from([1, 2, 3, 700, 9_000]), min_size=2, max_size=4),
    mask=st.booleans(),
)
def test_however_the_bytes_are_cut_every_message_comes_out_whole(
    lengths: list[int], sizes: list[int], mask: bool
) -> None:
    payloads = [bytes(at % 251 for at in range(length)) for length in lengths]
    raws = [Frame(Opcode.BINARY, each).serialize(mask=mask) for each in payloads]
    found = cut(b"".join(raws), sizes)
    assert [each.payload for each in found] == payloads
    assert [each.raw for each in found] == raws


@given(parts=st.lists(st.binary(max_size=200), min_size=1, max_size=5))
def test_a_fragmented_message_is_one_message_and_a_ping_between_passes_first(
    parts: list[bytes],
) -> None:
    frames = [
        Frame(
            Opcode.TEXT if at == 0 else Opcode.CONT, part, fin=at == len(parts) - 1
        ).serialize(mask=True)
        for at, part in enumerate(parts)
    ]
    ping = Frame(Opcode.PING, b"p").serialize(mask=True)
    found = cut(frames[0] + ping + b"".join(frames[1:]), [7])
    if len(parts) > 1:
        assert found[0].kind == "<ping>"
    assert found[-1 if len(parts) > 1 else 0].payload == b"".join(parts)
    assert found[-1 if len(parts) > 1 else 0].raw == b"".join(frames)


def text(payload: bytes) -> WireMessage:
    (found,) = MessageCutter().feed(Frame(Opcode.TEXT, payload).serialize(mask=False))
    return found


def test_a_message_is_named_by_its_type() -> None:
    assert text(json.dumps({"type": "observation.ack"}).encode()).kind == (
        "observation.ack"
    )
    assert text(b"no json").kind == "<text>"
    assert text(b"[1]").json() is None
    assert text(b'{"type": 3}').kind == "<text>"


def test_a_payload_is_not_shown_in_a_repr() -> None:
    """A token must not reach a report."""
    message = text(b'{"type": "hello", "bindingToken": "secret-token"}')
    assert "payload=" not in repr(message)
