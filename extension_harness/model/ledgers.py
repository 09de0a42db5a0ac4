"""The ledgers beside the messages, as their uplink sees them (background/ledgers.js).

Which verbs of the store and which frames belong together: no ACK of one settles
anything of another (OT-87).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from extension_harness.model.frames import Packed, pack_batch
from extension_harness.model.normal_form import anomaly_record
from extension_harness.model.pending_facts import PendingFacts
from extension_harness.model.steps import Behaviour, Digest, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.tasks import Life
from extension_harness.model.text import stringify
from storage_schema.onetalk import (
    apply_card_results,
    confirm_buyer_facts,
    drop_buyer_facts,
    list_pending_cards,
    list_pending_profiles,
    settle_profiles,
)


@dataclass(frozen=True)
class Bounds:
    """Of one request: its id, how many entries, how many bytes."""

    request_id: str
    most: int
    max_frame_bytes: int


class Ledger(Protocol):
    """What the three differ in; a part is what knows an entry again."""

    name: str
    ack: str

    def next(self, account: str, bounds: Bounds) -> Behaviour[Packed[Json] | None]:
        """The next request; None: nothing is pending."""

    def acknowledge(self, ack: Json) -> Behaviour[int]:
        """Ends when it is on disk, with how many entries are settled (OT-83)."""

    def refuse(self, account: str, parts: Sequence[Json], code: str) -> Behaviour[None]:
        """These can never be taken."""

    def is_any_pending(self, account: str) -> Behaviour[bool]:
        """Whether anything waits for Bright."""

    def observed(self, account: str, conversation: str) -> None:
        """Something of a conversation was recorded just now."""

    def reset(self) -> None:
        """What is pending has to be looked for from the start."""


def every_ledger(life: Life) -> list[Ledger]:
    """The three."""
    return [ProfileLedger(life), CardLedger(life), FactsLedger(life)]


class _Stateless:
    def __init__(self, life: Life) -> None:
        self._life = life

    def observed(self, account: str, conversation: str) -> None:
        """The store knows it."""

    def reset(self) -> None:
        """The store knows it."""


class ProfileLedger(_Stateless):
    """Contact profiles (OT-80 to OT-87)."""

    name = "profiles"
    ack = "contact.profile.ack"

    def next(self, account: str, bounds: Bounds) -> Behaviour[Packed[Json] | None]:
        """The oldest observations first."""
        records = yield from self._pending(account, bounds.most)
        if not records:
            return None
        entries = []
        for record in records:
            pending = record["pending"]
            part = {
                "conversationId": record["conversationId"],
                "fingerprint": pending["fingerprint"],
                "observedAtMs": pending["observedAtMs"],
            }
            wire = {**part, "aliId": pending["aliId"], "profile": pending["profile"]}
            entries.append((part, wire))
        envelope = {
            "type": "contact.profile.observed",
            "requestId": bounds.request_id,
            "channelAccountId": account,
        }
        return pack_batch(entries, envelope, bounds.max_frame_bytes, "profiles")

    def _pending(self, account: str, limit: int) -> Behaviour[list[Json]]:
        found: list[Json] = yield from verb(
            "listPendingProfiles", list_pending_profiles, account, {"limit": limit}
        )
        return found

    def acknowledge(self, ack: Json) -> Behaviour[int]:
        """Settles exactly what it names."""
        answer = {"confirmed": ack["acks"], "refused": ack["rejected"]}
        return (yield from self._settle(ack["channelAccountId"], answer))

    def refuse(self, account: str, parts: Sequence[Json], code: str) -> Behaviour[None]:
        """Drops exactly these (OT-84)."""
        del code
        yield from self._settle(account, {"confirmed": [], "refused": parts})

    def _settle(self, account: str, answer: Json) -> Behaviour[int]:
        now_ms = self._life.now()
        settled: int = yield from verb(
            "settleProfiles", settle_profiles, account, answer, now_ms
        )
        return settled

    def is_any_pending(self, account: str) -> Behaviour[bool]:
        """Whether a profile waits for Bright."""
        return bool((yield from self._pending(account, 1)))


class CardLedger(_Stateless):
    """Rendered cards (OT-90 to OT-92): one frame is of one conversation."""

    name = "cards"
    ack = "card.rendered.ack"

    def next(self, account: str, bounds: Bounds) -> Behaviour[Packed[Json] | None]:
        """The first conversation that has any, in key order."""
        cards = yield from self._pending(account, bounds.most)
        if not cards:
            return None
        conversation = cards[0]["conversationId"]
        entries = []
        for card in cards:
            if card["conversationId"] != conversation:
                continue
            named = {n: card[n] for n in ("candidateKey", "messageId", "cardKind")}
            part = {"conversationId": conversation, **named}
            entries.append((part, {**named, "content": card["content"]}))
        envelope = {
            "type": "card.rendered.observed",
            "requestId": bounds.request_id,
            "channelAccountId": account,
            "conversationId": conversation,
        }
        return pack_batch(entries, envelope, bounds.max_frame_bytes, "cards")

    def _pending(self, account: str, limit: int) -> Behaviour[list[Json]]:
        found: list[Json] = yield from verb(
            "listPendingCards", list_pending_cards, account, {"limit": limit}
        )
        return found

    def acknowledge(self, ack: Json) -> Behaviour[int]:
        """Each result counts for its own card alone."""
        account, conversation = ack["channelAccountId"], ack["conversationId"]
        results = [
            _card_result(account, conversation, each, self._life.now())
            for each in ack["results"]
            if each["status"] != "retry"
        ]
        if any(each["status"] == "conflict" for each in results):
            yield Digest()
        return (yield from self._apply(account, conversation, results))

    def refuse(self, account: str, parts: Sequence[Json], code: str) -> Behaviour[None]:
        """Puts exactly these aside."""
        results = [{**part, "status": "rejected", "code": code} for part in parts]
        yield from self._apply(account, parts[0]["conversationId"], results)

    def _apply(
        self, account: str, conversation: str, results: list[Json]
    ) -> Behaviour[int]:
        changed: int = yield from verb(
            "applyCardResults",
            apply_card_results,
            account,
            conversation,
            results,
            self._life.now(),
        )
        return changed

    def is_any_pending(self, account: str) -> Behaviour[bool]:
        """Whether a card waits for Bright."""
        return bool((yield from self._pending(account, 1)))


class FactsLedger:
    """Buyer facts: one frame is of one conversation, and its facts are one entry."""

    name = "facts"
    ack = "buyer.facts.ack"

    def __init__(self, life: Life) -> None:
        self._pending = PendingFacts(life)

    def next(self, account: str, bounds: Bounds) -> Behaviour[Packed[Json] | None]:
        """The first that is found."""
        record = yield from self._pending.first(account)
        if record is None:
            return None
        names = ("conversationId", "fingerprint", "observedAtMs")
        part = {name: record[name] for name in names}
        frame = {
            "type": "buyer.facts.observed",
            "requestId": bounds.request_id,
            "channelAccountId": account,
            **part,
            "facts": record["facts"],
        }
        is_fitting = len(stringify(frame).encode()) <= bounds.max_frame_bytes
        return Packed(frame, [part], None if is_fitting else part)

    def acknowledge(self, ack: Json) -> Behaviour[int]:
        """Settles exactly the facts that it names."""
        account = ack["channelAccountId"]
        is_settled: bool = yield from verb(
            "confirmBuyerFacts", confirm_buyer_facts, account, ack
        )
        return int(is_settled)

    def refuse(self, account: str, parts: Sequence[Json], code: str) -> Behaviour[None]:
        """Drops exactly these."""
        del code
        yield from verb("dropBuyerFacts", drop_buyer_facts, account, parts[0])

    def is_any_pending(self, account: str) -> Behaviour[bool]:
        """Whether facts wait for Bright."""
        return (yield from self._pending.first(account)) is not None

    def observed(self, account: str, conversation: str) -> None:
        """A conversation's facts were recorded just now."""
        self._pending.observed(account, conversation)

    def met(self, account: str, conversations: Sequence[str]) -> None:
        """These have a checkpoint only now."""
        self._pending.met(account, conversations)

    def reset(self) -> None:
        """Every checkpoint is looked at again."""
        self._pending.reset()


def _card_result(account: str, conversation: str, result: Json, now_ms: int) -> Json:
    names = ("candidateKey", "messageId", "cardKind", "status", "code")
    settled: Value = {name: result[name] for name in names if name in result}
    settled["ifConflict"] = None
    if result["status"] == "conflict":
        observed = {
            "messageId": result["messageId"],
            "cardKind": result["cardKind"],
            "at": "bright",
        }
        settled["ifConflict"] = anomaly_record(
            {
                "code": "card_conflict",
                "messageId": result["messageId"],
                "observed": observed,
            },
            account=account,
            conversation=conversation,
            surface="bright",
            now_ms=now_ms,
        )
    return dict(settled)
