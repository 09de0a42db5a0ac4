"""Anchors on the wire (OT-50). No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bright_server.messages import Anchor
from bright_server.wire.answers import AnchorEntry, AnchorSnapshot

# Keeps a snapshot of long ids below the smallest frame limit that clients have.
_ANCHORS_PER_FRAME = 200


def snapshots(anchors: Sequence[Anchor]) -> Iterator[AnchorSnapshot]:
    """Return frames that tell these anchors, none of them too long."""
    for start in range(0, len(anchors), _ANCHORS_PER_FRAME):
        yield AnchorSnapshot(
            anchors=[
                AnchorEntry(
                    channel_account_id=anchor.conversation.channel_account_id,
                    conversation_id=anchor.conversation.conversation_id,
                    latest_message_id=anchor.latest_message_id,
                    anchored_at_ms=anchor.anchored_at_ms,
                )
                for anchor in anchors[start : start + _ANCHORS_PER_FRAME]
            ]
        )
