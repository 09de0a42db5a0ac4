"""Profiles, cards and buyer facts of a group, decided under their conversations' locks.

Works of one ledger are judged in the order in which they came. That a later observation
alone may change one makes re-sending harmless.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

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
from bright_server.messages import ConversationKey, RenderedCard
from bright_server.stores.postgresql.connection import Row
from bright_server.stores.postgresql.database import Statement

Indexed: TypeAlias = tuple[int, LedgerWork]


class _Scope(NamedTuple):
    """What makes a card one card: first content wins inside it."""

    conversation: int
    message_id: str
    card_kind: str


class LedgerWriter:
    """Says what it wants to know, judges by that, and says what is to be written."""

    def __init__(
        self,
        works: Sequence[Indexed],
        refs: Mapping[ConversationKey, int],
        now_ms: int,
    ) -> None:
        self._works = works
        self._refs = refs
        self._now_ms = now_ms
        self._profiles: dict[int, Row] = {}
        self._facts: dict[int, Row] = {}
        self._cards: list[Row] = []
        self._conflicts: list[Row] = []

    def wanted(self) -> list[Statement]:
        """Return the statements whose rows `judged` needs."""
        if not self._works:
            return []
        profiles = {
            self._ref(work, each.conversation_id)
            for _, work in self._works
            if isinstance(work, ObservedProfiles)
            for each in work.profiles
        }
        facts = {
            self._refs[work.conversation]
            for _, work in self._works
            if isinstance(work, BuyerFacts)
        }
        scopes = sorted(
            {
                self._scope(work, card)
                for _, work in self._works
                if isinstance(work, RenderedCards)
                for card in work.cards
            }
        )
        return [
            ("find_profiles", (sorted(profiles),)),
            ("find_facts", (sorted(facts),)),
            ("find_cards", columns_of(scopes, 3)),
        ]

    def judged(self, found: Sequence[Sequence[Row]]) -> dict[int, Outcome]:
        """Return the outcome of each work by its index."""
        if not self._works:
            return {}
        profiles, facts, cards = found
        seen_profiles = dict(map(tuple, profiles))
        seen_facts = dict(map(tuple, facts))
        first = {_Scope(*scope): content for *scope, content in cards}
        outcomes: dict[int, Outcome] = {}
        for index, work in self._works:
            if isinstance(work, ObservedProfiles):
                outcomes[index] = self._judge_profiles(work, seen_profiles)
            elif isinstance(work, BuyerFacts):
                outcomes[index] = self._judge_facts(work, seen_facts)
            else:
                outcomes[index] = self._judge_cards(work, first)
        return outcomes

    def writes(self) -> list[Statement]:
        """Return the statements that write what was judged."""
        rows = {
            "put_profiles": list(self._profiles.values()),
            "put_facts": list(self._facts.values()),
            "add_cards": self._cards,
            "add_card_conflicts": self._conflicts,
        }
        return [
            (name, columns_of(each, len(each[0])))
            for name, each in rows.items()
            if each
        ]

    def _judge_profiles(
        self, work: ObservedProfiles, seen: dict[int, int]
    ) -> ProfilesStored:
        taken = set()
        for index, each in enumerate(work.profiles):
            ref = self._ref(work, each.conversation_id)
            if not _is_newer(seen, ref, each.observed_at_ms):
                continue
            taken.add(index)
            self._profiles[ref] = (
                ref,
                each.ali_id,
                each.profile,
                each.fingerprint,
                each.observed_at_ms,
                self._now_ms,
                work.grant.binding_id,
            )
        return ProfilesStored(frozenset(taken))

    def _judge_facts(self, work: BuyerFacts, seen: dict[int, int]) -> FactsStored:
        ref = self._refs[work.conversation]
        said = work.facts
        taken = _is_newer(seen, ref, said.observed_at_ms)
        if taken:
            self._facts[ref] = (
                ref,
                said.facts,
                said.fingerprint,
                said.observed_at_ms,
                self._now_ms,
                work.grant.binding_id,
            )
        return FactsStored(taken=taken)

    def _judge_cards(
        self, work: RenderedCards, first: dict[_Scope, str]
    ) -> CardsStored:
        repeats, conflicts = set(), set()
        told = (self._now_ms, work.grant.binding_id)
        for place, card in enumerate(work.cards):
            scope = self._scope(work, card)
            if scope not in first:
                first[scope] = card.content
                self._cards.append((*scope, card.content, *told))
            elif first[scope] == card.content:
                repeats.add(place)
            else:
                conflicts.add(place)
                digest = hashlib.sha256(card.content.encode()).digest()
                self._conflicts.append((*scope, digest, card.content, *told))
        return CardsStored(len(work.cards), frozenset(repeats), frozenset(conflicts))

    def _ref(self, work: ObservedProfiles, conversation_id: str) -> int:
        return self._refs[ConversationKey(work.channel_account_id, conversation_id)]

    def _scope(self, work: RenderedCards, card: RenderedCard) -> _Scope:
        return _Scope(self._refs[work.conversation], card.message_id, card.card_kind)


def columns_of(rows: Iterable[Sequence[object]], width: int) -> list[list[object]]:
    """Return rows as columns, of which there are so many also without a row."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns or [[] for _ in range(width)]


def _is_newer(seen: dict[int, int], ref: int, at_ms: int) -> bool:
    """Say whether an observation is the newest so far, and keep that it is (OT-81)."""
    if ref in seen and seen[ref] >= at_ms:
        return False
    seen[ref] = at_ms
    return True
