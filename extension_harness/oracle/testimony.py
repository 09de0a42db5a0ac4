"""What the frames on the wire say, held against the truth and against Bright's store.

Two promises show only there: an acknowledged message is on disk under the sequence that
the ACK named, whatever was killed afterwards; and no anchor comes before every message
that it covers was acknowledged [OT-43, OT-50].
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from extension_harness.network.fault import Seen
from extension_harness.page.ledger import Ledger
from extension_harness.server import StoreDump

Scope = tuple[str, str, str]
SETTLING = frozenset({"confirmed", "conflict"})
"""Results after which Bright holds a message under that id."""
UNREAD = frozenset({"malformed_json", "invalid_frame", "unknown_type"})
"""What Bright answers to a frame that is none."""
LIVE_SURFACE = "emitter"
LIVE_SECONDS = 2.0
"""How long an event may be on its way from the page to the extension's store.

An anchor claimed meanwhile cannot know of it; what a page of history brought, it must.
"""


def ack_faults(seen: Iterable[Seen], server: StoreDump) -> Iterator[str]:
    """An ACK names the sequence that the store has, the same one every time."""
    stored = {
        (row["channelAccountId"], row["conversationId"], row["messageId"]): row[
            "sequence"
        ]
        for row in server.messages
    }
    before: set[Scope] = set()
    for frame in seen:
        for scope, result in _results(frame):
            if result["status"] != "confirmed":
                continue
            if scope not in stored:
                yield f"acknowledged and not stored: {scope}"
            elif result.get("sequence") not in (None, stored[scope]):
                yield f"acknowledged under another sequence than stored: {scope}"
            if not result["duplicate"] and scope in before:
                yield f"acknowledged as new twice: {scope}"
            before.add(scope)


def unread_frames(seen: Iterable[Seen]) -> Iterator[str]:
    """Bright could read every frame: one that it cannot, it tells by a `ws.error`."""
    for frame in seen:
        said = frame.body or {}
        if frame.kind == "ws.error" and said.get("code") in UNREAD:
            where = f"{said['code']} at {said.get('path')!r}: {said.get('message')}"
            yield f"a frame that Bright cannot read: {where}"


def early_anchors(seen: Iterable[Seen], ledger: Ledger) -> Iterator[str]:
    """An anchor covers only what was acknowledged before it."""
    wall = time.time() - time.monotonic()
    shown: dict[tuple[str, str], float] = {}
    for chance in ledger.observable():
        key = (chance.conversation_id, chance.message_id)
        on_its_way = LIVE_SECONDS if chance.surface == LIVE_SURFACE else 0.0
        first = chance.first_at_ms / 1000 - wall + on_its_way
        shown[key] = min(first, shown.get(key, first))
    expected = defaultdict(list)
    for message in ledger.expected():
        expected[message.conversation_id].append(message)
    acknowledged: set[Scope] = set()
    for frame in seen:
        acknowledged.update(
            scope for scope, result in _results(frame) if result["status"] in SETTLING
        )
        for anchor in _anchors(frame):
            covered = expected[anchor["conversationId"]]
            newest = max(
                (
                    (each.sent_at_ms, each.message_id)
                    for each in covered
                    if each.message_id == anchor["latestMessageId"]
                ),
                default=(0, ""),  # taken back since: who knows what it covered
            )
            for each in covered:
                known = (each.conversation_id, each.message_id)
                if (
                    (each.sent_at_ms, each.message_id) <= newest
                    and shown.get(known, frame.at) < frame.at
                    and each.scope not in acknowledged
                ):
                    yield f"anchored before it was acknowledged: {each.scope}"


def _results(frame: Seen) -> Iterator[tuple[Scope, dict[str, object]]]:
    body = frame.body
    if body is None or frame.kind != "observation.ack":
        return
    for result in body["results"]:
        where = (body["channelAccountId"], body["conversationId"])
        yield (*where, result["messageId"]), result


def _anchors(frame: Seen) -> list[dict[str, str]]:
    if frame.body is None or frame.kind != "anchor.snapshot":
        return []
    return list(frame.body["anchors"])
