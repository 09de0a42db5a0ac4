"""A model extension's truth, its disk and Bright's store, held together at rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from extension_harness.model.disk import Disk
from extension_harness.model.truth import Truth
from storage_schema.onetalk.names import (
    BUYER_FACTS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
    PROFILES,
)

Row = Mapping[str, Any]
_SAME = ("senderId", "direction", "sentAtMs", "kind", "text")


def is_at_rest(truth: Truth, disk: Disk) -> bool:
    """Every message is on disk and confirmed, every conversation has ended."""
    expected = {_name(row) for row in truth.messages()}
    confirmed = {
        _name(each)
        for each in disk.records(CANDIDATES)
        if each["status"] == "confirmed"
    }
    if expected != confirmed:
        return False
    profiles = disk.records(PROFILES)
    known = {each["conversationId"] for each in profiles if "pending" not in each}
    if known != truth.conversations.keys():
        return False  # the list is read again before long
    if any(each["status"] == "pending_ack" for each in disk.records(CARDS)):
        return False
    if any(
        each["uploadedFingerprint"] != each["fingerprint"]
        for each in disk.records(BUYER_FACTS)
    ):
        return False
    checkpoints = disk.records(CHECKPOINTS)
    ended = all(map(_has_ended, checkpoints))
    return ended and len(checkpoints) == len(truth.conversations)


def faults_of(
    truth: Truth, disk: Disk, bright: Mapping[str, Sequence[Row]]
) -> Iterator[str]:
    """What is lost, doubled, different, early or left over, each in words.

    `bright` are Bright's rows of this account, by their type.
    """
    stored = bright.get("message", ())
    by_name = {_name(row): row for row in stored}
    if len(by_name) != len(stored):
        yield f"{truth.account}: {len(stored) - len(by_name)} messages stored twice"
    expected = {_name(row): row for row in truth.messages()}
    for name in sorted(expected.keys() - by_name.keys()):
        yield f"{truth.account}: lost {name}"
    for name in sorted(by_name.keys() - expected.keys()):
        yield f"{truth.account}: never shown, and stored: {name}"
    for name in sorted(expected.keys() & by_name.keys()):
        row = by_name[name]
        if any(row[field] != expected[name][field] for field in _SAME):
            yield f"{truth.account}: stored with other content: {name}"
    yield from _ledger_faults(truth.account, disk, by_name)
    yield from _anchor_faults(truth.account, disk, bright.get("anchor", ()))
    yield from _apart_faults(truth.account, disk, bright)
    yield from _profile_faults(truth, bright.get("contactProfile", ()))


def _ledger_faults(
    account: str, disk: Disk, stored: Mapping[tuple[str, str], Row]
) -> Iterator[str]:
    """The extension's own ledger says what Bright's store says."""
    facts = {_name(each) for each in disk.records(MESSAGES)}
    for candidate in disk.records(CANDIDATES):
        name = _name(candidate)
        if name not in facts:
            yield f"{account}: a candidate without its message: {name}"
        if candidate["status"] != "confirmed":
            yield f"{account}: left {candidate['status']}: {name}"
        elif name not in stored:
            yield f"{account}: confirmed and not stored: {name}"
        elif candidate.get("sequence") not in (None, stored[name]["sequence"]):
            yield f"{account}: confirmed under another sequence than stored: {name}"


def _apart_faults(
    account: str, disk: Disk, bright: Mapping[str, Sequence[Row]]
) -> Iterator[str]:
    """Every card and every fact that the page told is at Bright (OT-90)."""
    cards = {
        (*_name(each), each["cardKind"]): each["content"]
        for each in bright.get("renderedCard", ())
    }
    for card in disk.records(CARDS):
        name = (*_name(card), card["cardKind"])
        if cards.get(name) != card["content"]:
            yield f"{account}: another card than {name}, or none"
    facts = {e["conversationId"]: e["facts"] for e in bright.get("buyerFacts", ())}
    for told in disk.records(BUYER_FACTS):
        if facts.get(told["conversationId"]) != told["facts"]:
            yield f"{account}: other facts of {told['conversationId']}, or none"


def _profile_faults(truth: Truth, profiles: Sequence[Row]) -> Iterator[str]:
    """Every contact that the list showed is at Bright, as it showed him (OT-81)."""
    names = {each["conversationId"]: each["profile"].get("name") for each in profiles}
    for conversation in truth.conversations.values():
        if names.get(conversation.name) != conversation.title:
            yield f"{truth.account}: another profile of {conversation.name}, or none"


def _anchor_faults(account: str, disk: Disk, anchors: Sequence[Row]) -> Iterator[str]:
    proven = {each["conversationId"]: each["latestMessageId"] for each in anchors}
    for checkpoint in disk.records(CHECKPOINTS):
        name = checkpoint["conversationId"]
        if not _has_ended(checkpoint):
            yield f"{account}: {name} has not ended: {checkpoint['phase']}"
        elif checkpoint["anchorMessageId"] != proven.get(name):
            yield f"{account}: {name} has another anchor here than at Bright"


def _has_ended(checkpoint: Row) -> bool:
    if checkpoint["phase"] == "completed":
        return True
    return bool(checkpoint["result"] == "no_valid_messages")


def _name(row: Row) -> tuple[str, str]:
    return row["conversationId"], row["messageId"]
