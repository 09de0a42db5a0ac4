"""What the ledgers of cards and buyer facts must be, beside what the page showed.

On both sides: what neither the page drew nor its customer card told is a fault. What is
missing is none here: a card may just be on its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from extension_harness.page.ledger import Ledger
from extension_harness.server import StoreDump
from extension_harness.storage import DatabaseDump


def surroundings_faults(
    ledger: Ledger, extension: DatabaseDump, server: StoreDump
) -> Iterator[str]:
    """Cards, facts and Bright's profiles are what the page said [OT-80, OT-90]."""
    for row in extension.records("onetalk_rendered_card_ledger"):
        yield from _card_faults(ledger, row, "extension")
    for row in server.of("renderedCard"):
        yield from _card_faults(ledger, row, "Bright")
    for row in extension.records("onetalk_buyer_facts"):
        yield from _facts_faults(ledger, row, "extension")
    for row in server.of("buyerFacts"):
        yield from _facts_faults(ledger, row, "Bright")
    for row in server.of("contactProfile"):
        said = [
            (each.ali_id, each.profile())
            for each in ledger.profile_versions(str(row["conversationId"]))
        ]
        if row["channelAccountId"] != ledger.account:
            yield f"Bright: profile of another account: {row['conversationId']}"
        if (row["aliId"], row["profile"]) not in said:
            yield f"Bright: profile that no list said: {row['conversationId']}"


def _card_faults(ledger: Ledger, row: Mapping[str, Any], where: str) -> Iterator[str]:
    drawn = {
        (card.conversation_id, card.message_id, card.card_kind): card.content()
        for card in ledger.cards()
    }
    named = (row.get("conversationId"), row.get("messageId"), row.get("cardKind"))
    if row.get("channelAccountId") != ledger.account:
        yield f"{where}: card of another account: {named}"
    elif drawn.get(named) != row["content"]:  # type: ignore[arg-type]
        yield f"{where}: card that the page did not draw so: {named}"


def _facts_faults(ledger: Ledger, row: Mapping[str, Any], where: str) -> Iterator[str]:
    conversation = row.get("conversationId")
    if row.get("channelAccountId") != ledger.account:
        yield f"{where}: buyer facts of another account: {conversation}"
    elif ledger.facts().get(str(conversation)) != row["facts"]:
        yield f"{where}: buyer facts that the page did not tell: {conversation}"
