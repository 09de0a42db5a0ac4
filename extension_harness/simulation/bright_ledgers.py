"""What Bright's ledgers of cards and buyer facts must be, and what is said of them."""

from __future__ import annotations

import json

from extension_harness.simulation.server.disk import ServerDisk
from extension_harness.simulation.truth import (
    Row,
    Scope,
    Truth,
    card_title,
    facts_country,
)
from extension_harness.simulation.violation import broken

_CARDS = """
SELECT r.card, c.channel_account_id, c.conversation_id, r.message_id, r.content
FROM rendered_card AS r JOIN conversation AS c USING (conversation) WHERE r.card > ?
ORDER BY r.card
"""
_FACTS = """
SELECT c.channel_account_id, c.conversation_id, f.observed_at_ms, f.facts
FROM buyer_facts AS f JOIN conversation AS c USING (conversation)
"""


class BrightLedgers:
    """Knows what is committed of both ledgers."""

    def __init__(self, truth: Truth, disk: ServerDisk) -> None:
        self._truth = truth
        self._disk = disk
        self.cards: set[Scope] = set()
        self.facts: dict[tuple[str, str], int] = {}
        """Of each buyer when the facts were observed."""
        self.ever_cards: set[Scope] = set()
        self.ever_facts: dict[tuple[str, str], int] = {}
        self._card = 0

    def restored(self) -> None:
        """The store is another: read all of it."""
        self.cards, self.facts, self._card = set(), {}, 0
        self.read()

    def read(self) -> None:
        """A transaction is over: what it left must be true."""
        rows = self._disk.database.execute(_CARDS, (self._card,)).fetchall()
        for number, account, place, name, content in rows:
            scope = (account, place, name)
            if scope not in self._truth.by_scope or scope in self.cards:
                broken("no_double", f"Bright has a card of {scope} that is none")
            if json.loads(content)["title"] != card_title(name):
                broken("no_double", f"Bright's card of {scope} says something else")
            self.cards.add(scope)
            self.ever_cards.add(scope)
            self._card = number
        for account, place, at_ms, facts in self._disk.database.execute(_FACTS):
            self._read_facts((account, place), at_ms, json.loads(facts))

    def _read_facts(self, where: tuple[str, str], at_ms: int, facts: Row) -> None:
        before = self.facts.get(where, 0)
        if at_ms == before:
            return
        if at_ms < before:
            broken("latest_wins", f"older facts of {where} won")
        conversation = self._truth.conversations.get(where)
        versions = range(1, conversation.facts_version + 1) if conversation else ()
        if facts.get("country") not in {facts_country(n) for n in versions}:
            broken("scope", f"Bright has facts of {where} that are not its")
        self.facts[where] = at_ms
        self.ever_facts[where] = max(at_ms, self.ever_facts.get(where, 0))

    def acknowledges(self, frame: Row) -> None:
        """An ACK leaves: what it confirms is on the disk (OT-90)."""
        where = (frame["channelAccountId"], frame["conversationId"])
        if frame["type"] == "buyer.facts.ack":
            if self.facts.get(where, 0) < frame["observedAtMs"]:
                broken("ack_means_disk", f"facts of {where} were ACKed unstored")
            return
        for result in frame["results"]:
            scope = (*where, result["messageId"])
            if result["status"] == "confirmed" and scope not in self.cards:
                broken("ack_means_disk", f"a card of {scope} was ACKed unstored")
            if result["status"] in {"conflict", "rejected"}:
                broken("no_loss", f"a good card of {scope} was {result['status']}")
