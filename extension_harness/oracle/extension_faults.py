"""What the extension's own store must be, at rest, beside Bright's.

Each function yields a sentence for each fault; none for a good store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from extension_harness.oracle.server_faults import Row, conversation_of, scope_of
from extension_harness.server import StoreDump
from extension_harness.storage import DatabaseDump

DATABASE_VERSION = 10
KNOWN_STORES = frozenset(
    {
        "onetalk_messages",
        "onetalk_candidates",
        "onetalk_checkpoints",
        "onetalk_anomalies",
        "onetalk_contact_profiles",
        "onetalk_conversation_bootstraps",
        "onetalk_buyer_facts",
        "onetalk_rendered_card_ledger",
    }
)


def candidate_faults(extension: DatabaseDump, server: StoreDump) -> Iterator[str]:
    """One candidate for each message, confirmed under Bright's sequence [OT-06]."""
    candidates = extension.records("onetalk_candidates")
    known = Counter(scope_of(each) for each in candidates)
    facts = {scope_of(each) for each in extension.records("onetalk_messages")}
    yield from (f"fact without a candidate: {each}" for each in facts - known.keys())
    yield from (f"candidate without a fact: {each}" for each in known.keys() - facts)
    yield from (f"two candidates: {each}" for each, n in known.items() if n > 1)
    sequences = {scope_of(row): row["sequence"] for row in server.messages}
    for each in candidates:
        scope = scope_of(each)
        if each["status"] != "confirmed":
            yield f"not confirmed but {each['status']}: {scope}"
        elif scope not in sequences:
            yield f"confirmed, and Bright does not have it: {scope}"
        elif each.get("sequence") != sequences[scope]:
            yield (
                f"confirmed as {each.get('sequence')}, "
                f"at Bright it is {sequences[scope]}: {scope}"
            )


def checkpoint_faults(extension: DatabaseDump, server: StoreDump) -> Iterator[str]:
    """Each conversation is completed, on the anchor that Bright has proven [OT-50]."""
    checkpoints = extension.records("onetalk_checkpoints")
    anchors = {
        conversation_of(row): row["latestMessageId"] for row in server.of("anchor")
    }
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    for row in server.messages:
        order = (row["sentAtMs"], row["messageId"])
        key = conversation_of(row)
        newest[key] = max(newest.get(key, order), order)
    for each in checkpoints:
        where = conversation_of(each)
        if _rests_empty(each, newest):
            continue
        if each["phase"] != "completed":
            yield f"{where} is {each['phase']}, not completed: {each.get('result')}"
            continue
        if not each["historyComplete"] or each["nextTimeStamp"] is not None:
            yield f"{where} is completed with history still to read [OT-43, OT-44]"
        if where not in newest:
            continue
        if anchors.get(where) != newest[where][1]:
            yield (
                f"{where} is anchored at {anchors.get(where)}, "
                f"its newest message is {newest[where][1]}"
            )
        elif not anchors[where] == each["anchorMessageId"] == each["latestMessageId"]:
            yield (
                f"{where}: the extension's anchor is {each['anchorMessageId']}, "
                f"its newest confirmed message {each['latestMessageId']}"
            )
    seen = {conversation_of(each) for each in checkpoints}
    yield from (f"{key} was never synced" for key in newest.keys() - seen)


def _rests_empty(
    checkpoint: Row, newest: Mapping[tuple[str, str], tuple[int, str]]
) -> bool:
    """Whether a conversation was read to its end and has no valid message at all."""
    return bool(
        checkpoint.get("result") == "no_valid_messages"
        and checkpoint["historyComplete"]
        and conversation_of(checkpoint) not in newest
    )


def stray_faults(extension: DatabaseDump) -> Iterator[str]:
    """Nothing stands where message sync has nothing to write [OT-10, OT-15]."""
    if extension.version != DATABASE_VERSION:
        yield f"the database is at version {extension.version}"
    yield from (
        f"unknown store {name}"
        for name in sorted(extension.stores.keys() - KNOWN_STORES)
    )
    listed = {
        conversation_of(each)
        for each in extension.records("onetalk_conversation_bootstraps")
    }
    checkpoints = extension.records("onetalk_checkpoints")
    known = {conversation_of(each) for each in checkpoints}
    if len(known) != len(checkpoints):
        yield "two checkpoints of one conversation"
    yield from (f"listed and never synced: {each}" for each in listed - known)
