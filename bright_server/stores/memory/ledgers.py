"""Profiles, cards and buyer facts in memory (OT-81, OT-90)."""

from __future__ import annotations

from dataclasses import dataclass, field

from bright_server.commit.groups import (
    BuyerFacts,
    CardsStored,
    FactsStored,
    LedgerWork,
    ObservedProfiles,
    Outcome,
    ProfilesStored,
    RenderedCards,
)
from bright_server.messages import ConversationKey, ObservedFacts, ObservedProfile


@dataclass(slots=True)
class Ledgers:
    """Two ledgers in which the latest wins, and one in which the first does."""

    profiles: dict[ConversationKey, ObservedProfile] = field(default_factory=dict)
    facts: dict[ConversationKey, ObservedFacts] = field(default_factory=dict)
    cards: dict[tuple[ConversationKey, str, str], str] = field(default_factory=dict)
    """Content by conversation, message and kind."""
    card_conflicts: set[tuple[ConversationKey, str, str, str]] = field(
        default_factory=set
    )

    def write(self, work: LedgerWork) -> Outcome:
        """Do one work."""
        if isinstance(work, ObservedProfiles):
            return self._write_profiles(work)
        if isinstance(work, BuyerFacts):
            return self._write_facts(work)
        return self._write_cards(work)

    def _write_profiles(self, work: ObservedProfiles) -> ProfilesStored:
        taken = set()
        for index, each in enumerate(work.profiles):
            key = ConversationKey(work.channel_account_id, each.conversation_id)
            there = self.profiles.get(key)
            if there is None or each.observed_at_ms > there.observed_at_ms:
                self.profiles[key] = each
                taken.add(index)
        return ProfilesStored(frozenset(taken))

    def _write_facts(self, work: BuyerFacts) -> FactsStored:
        there = self.facts.get(work.conversation)
        if there is not None and work.facts.observed_at_ms <= there.observed_at_ms:
            return FactsStored(taken=False)
        self.facts[work.conversation] = work.facts
        return FactsStored(taken=True)

    def _write_cards(self, work: RenderedCards) -> CardsStored:
        repeats, conflicts = set(), set()
        for index, card in enumerate(work.cards):
            scope = (work.conversation, card.message_id, card.card_kind)
            is_there = scope in self.cards
            first = self.cards.setdefault(scope, card.content)
            if first != card.content:
                conflicts.add(index)
                self.card_conflicts.add((*scope, card.content))
            elif is_there:
                repeats.add(index)
        return CardsStored(len(work.cards), frozenset(repeats), frozenset(conflicts))
