"""What a session says when its work is done; here, and only here, ACKs come about.

No I/O. What was asked and what became of it have to fit each other: an outcome of
another kind of work acknowledges nothing (OT-87).
"""

from __future__ import annotations

from bright_server.commit.groups import (
    ClaimProven,
    ClaimUnproven,
    DiscoveryStored,
    NotStored,
    Outcome,
)
from bright_server.ingest.anchors import snapshots
from bright_server.ingest.effects import Announce, Effect, Send
from bright_server.ingest.ledgers import AskedLedger, ledger_answer
from bright_server.ingest.replies import (
    Asked,
    AskedBatch,
    batch_answer,
    discovery_answer,
    failure_answer,
)
from bright_server.wire.codec import encode
from bright_server.wire.requests import ConversationDiscovered


def answers_to(asked: Asked, outcome: Outcome) -> list[Effect]:
    """Return what is to be said of finished work; a denied one is not for here."""
    if isinstance(asked, AskedBatch):
        return [batch_answer(asked, outcome)]
    if isinstance(asked, AskedLedger):
        return [ledger_answer(asked, outcome) or _not_stored(asked)]
    if isinstance(outcome, NotStored):
        return [_not_stored(asked)]
    if isinstance(outcome, DiscoveryStored) and isinstance(
        asked, ConversationDiscovered
    ):
        return [*discovery_answer(asked, outcome)]
    if isinstance(outcome, ClaimUnproven):
        message = "the claimed message is not in this store: send its facts again"
        return [failure_answer(asked, "claim_unproven", message)]
    if isinstance(outcome, ClaimProven):
        return _told(outcome)
    return []


def _not_stored(asked: Asked) -> Send:
    return failure_answer(asked, "internal", "it was not stored now: send it again")


def _told(outcome: ClaimProven) -> list[Effect]:
    told: list[Effect] = [Send(encode(frame)) for frame in snapshots([outcome.anchor])]
    return [*told, Announce(outcome.anchor)] if outcome.moved else told
