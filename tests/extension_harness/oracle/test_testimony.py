"""What the frames on the wire say is held against Bright's store."""

from __future__ import annotations

from extension_harness.network.fault import Seen
from extension_harness.oracle.testimony import unread_frames


def error(code: str) -> Seen:
    body = {"type": "ws.error", "code": code, "path": "page", "message": "not so"}
    return Seen(1.0, 1, "to_client", "ws.error", 80, body)


def test_a_frame_that_the_server_cannot_read_is_told_with_its_field() -> None:
    """OT-64: whatever else came of it, the extension sent what is no frame."""
    told = list(unread_frames([error("invalid_frame"), error("route_not_exact")]))
    assert told == ["a frame that Bright cannot read: invalid_frame at 'page': not so"]
