"""Each frame of Bright to the part that it is for (background/frame-router.js)."""

from __future__ import annotations

from dataclasses import dataclass

from extension_harness.model.claims import Claims
from extension_harness.model.commands import Commands
from extension_harness.model.connection import Connection
from extension_harness.model.faults import Faults
from extension_harness.model.ledger_uplink import LedgerUplink
from extension_harness.model.pages import Pages
from extension_harness.model.presence import Presence
from extension_harness.model.steps import Behaviour, Json
from extension_harness.model.uplink import Uplink


@dataclass(frozen=True)
class RouterParts:
    """Where frames go; `discoveries`: account by request id of a discovery."""

    connection: Connection
    faults: Faults
    claims: Claims
    pages: Pages
    uplink: Uplink
    ledgers: LedgerUplink
    presence: Presence
    commands: Commands
    discoveries: dict[str, str]


class FrameRouter:
    """Every frame after `welcome`."""

    def __init__(self, parts: RouterParts) -> None:
        self._parts = parts

    def take(self, frame: Json) -> Behaviour[None]:
        """Ends when all that follows from it is on disk."""
        parts = self._parts
        match frame["type"]:
            case "observation.ack":
                yield from parts.uplink.acknowledge(frame)
                if parts.uplink.batches_in_flight == 0:
                    yield from parts.presence.settle()
            case "contact.profile.ack" | "card.rendered.ack" | "buyer.facts.ack":
                yield from parts.ledgers.acknowledge(frame)
            case "anchor.snapshot":
                yield from parts.claims.anchored(frame["anchors"])
            case "conversation.known":
                account = parts.discoveries.pop(frame["requestId"], None)
                if account:
                    yield from parts.claims.compare(account, frame["conversations"])
            case "ws.error":
                yield from self._refused(frame)
            case "command":
                yield from parts.commands.take(frame)

    def _refused(self, error: Json) -> Behaviour[None]:
        parts = self._parts
        account, conversation = error["channelAccountId"], error["conversationId"]
        if error["code"] == "claim_unproven" and account and conversation:
            yield from parts.claims.offer_again(account, conversation)
            return
        if not (yield from parts.uplink.refuse(error)):
            yield from parts.ledgers.refuse(error)
        if error["retryable"]:
            return
        held = parts.connection.accounts
        open_ones = [page.account for page in parts.pages.all]
        parts.faults.refused(error, [each for each in open_ones if each not in held])
