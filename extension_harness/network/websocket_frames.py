"""WebSocket messages cut out of a byte stream, without I/O (RFC 6455, section 5.2).

For a proxy between two ends that both speak correctly: what comes out is the very bytes
that went in, cut at message borders, beside the text that they carry. Extensions are
not understood; the proxy takes their offer out of the handshake.
"""

import json
from dataclasses import dataclass, field
from typing import Any

CONTINUATION, TEXT, BINARY = 0x0, 0x1, 0x2
FIRST_CONTROL = 0x8
NAMES = {TEXT: "text", BINARY: "binary", 0x8: "close", 0x9: "ping", 0xA: "pong"}


@dataclass(frozen=True)
class WireMessage:
    """One whole message, or one control frame, as bytes and as what they mean.

    Attributes:
        raw: All its frames as they came.
        opcode: Of its first frame.
        payload: Unmasked.
    """

    raw: bytes
    opcode: int
    payload: bytes = field(repr=False)  # may hold a token

    def json(self) -> dict[str, Any] | None:
        """The JSON object that a text message carries, or None."""
        if self.opcode != TEXT:
            return None
        try:
            found = json.loads(self.payload)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    @property
    def kind(self) -> str:
        """The JSON object's ``type``, else the kind of the frame in angle brackets."""
        found = self.json()
        if found is not None and isinstance(found.get("type"), str):
            return str(found["type"])
        return f"<{NAMES.get(self.opcode, hex(self.opcode))}>"


class MessageCutter:
    """Feed it bytes, get the messages that are whole."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._raw = bytearray()
        self._payload = bytearray()
        self._opcode = CONTINUATION

    def feed(self, data: bytes) -> list[WireMessage]:
        """Take the next bytes; gives the messages that they complete, in order.

        A control frame between the fragments of a message comes out before the message.
        """
        self._buffer += data
        found: list[WireMessage] = []
        while (length := self._frame_length()) is not None:
            raw = bytes(self._buffer[:length])
            del self._buffer[:length]
            message = self._take(raw)
            if message is not None:
                found.append(message)
        return found

    def _frame_length(self) -> int | None:
        """Bytes of the first frame when the buffer holds all of it."""
        if len(self._buffer) < 2:
            return None
        header = _header_length(self._buffer[1])
        if len(self._buffer) < header:
            return None
        length = header + _payload_length(self._buffer)
        return length if len(self._buffer) >= length else None

    def _take(self, raw: bytes) -> WireMessage | None:
        opcode = raw[0] & 0x0F
        payload = _unmasked(raw)
        if opcode >= FIRST_CONTROL:
            return WireMessage(raw, opcode, payload)
        if opcode != CONTINUATION:
            self._opcode = opcode
        self._raw += raw
        self._payload += payload
        if not raw[0] & 0x80:
            return None
        message = WireMessage(bytes(self._raw), self._opcode, bytes(self._payload))
        self._raw.clear()
        self._payload.clear()
        return message


def _header_length(second: int) -> int:
    extended = {126: 2, 127: 8}.get(second & 0x7F, 0)
    return 2 + extended + (4 if second & 0x80 else 0)


def _payload_length(frame: bytes | bytearray) -> int:
    short = frame[1] & 0x7F
    if short == 126:
        return int.from_bytes(frame[2:4], "big")
    if short == 127:
        return int.from_bytes(frame[2:10], "big")
    return short


def _unmasked(raw: bytes) -> bytes:
    header = _header_length(raw[1])
    payload = raw[header:]
    if not raw[1] & 0x80:
        return payload
    mask = raw[header - 4 : header]
    whole = (mask * (len(payload) // 4 + 1))[: len(payload)]
    # One big exclusive-or instead of a loop over bytes.
    number = int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")
    return number.to_bytes(len(payload), "big")
