"""Profiles, cards and buyer facts of a group, inside its transaction.

Works of one ledger are done in the order in which they came. That one is an upsert
which a later observation alone may change makes re-sending harmless.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

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
from bright_server.messages import BindingId, ConversationKey, RenderedCard
from bright_server.stores.sqlite.queries import SQL
from bright_server.wire.text import compact_json

Indexed: TypeAlias = tuple[int, LedgerWork]


class _Scope(NamedTuple):
    """What makes a card one card: first content wins inside it."""

    conversation: int
    message_id: str
    card_kind: str


def write_ledgers(
    database: sqlite3.Connection, works: Sequence[Indexed], now_ms: int
) -> dict[int, Outcome]:
    """Do the works, and return the outcome of each by its index."""
    writer = _LedgerWriter(database, _refs(database, works), now_ms)
    outcomes: dict[int, Outcome] = {}
    cards = []
    for index, work in works:
        if isinstance(work, ObservedProfiles):
            outcomes[index] = writer.profiles(work)
        elif isinstance(work, BuyerFacts):
            outcomes[index] = writer.facts(work)
        else:
            cards.append((index, work))
    return outcomes | writer.cards(cards)


def _refs(
    database: sqlite3.Connection, works: Sequence[Indexed]
) -> dict[ConversationKey, int]:
    """Return the small keys of all conversations, made where there is none."""
    pairs = sorted(
        {
            (key.channel_account_id, key.conversation_id)
            for _, work in works
            for key in _keys(work)
        }
    )
    database.executemany(SQL["add_conversations"], pairs)
    rows = database.execute(SQL["find_refs"], (compact_json(pairs),))
    return {ConversationKey(account, name): ref for account, name, ref in rows}


def _keys(work: LedgerWork) -> Iterable[ConversationKey]:
    if isinstance(work, ObservedProfiles):
        account = work.channel_account_id
        return [
            ConversationKey(account, each.conversation_id) for each in work.profiles
        ]
    return [work.conversation]


class _LedgerWriter:
    def __init__(
        self,
        database: sqlite3.Connection,
        refs: dict[ConversationKey, int],
        now_ms: int,
    ) -> None:
        self._database = database
        self._refs = refs
        self._now_ms = now_ms

    def profiles(self, work: ObservedProfiles) -> ProfilesStored:
        taken = set()
        for index, (key, each) in enumerate(
            zip(_keys(work), work.profiles, strict=True)
        ):
            row = (
                self._refs[key],
                each.ali_id,
                each.profile,
                each.fingerprint,
                each.observed_at_ms,
                self._now_ms,
                work.grant.binding_id,
            )
            if self._run("put_profile", row):
                taken.add(index)
        return ProfilesStored(frozenset(taken))

    def facts(self, work: BuyerFacts) -> FactsStored:
        row = (
            self._refs[work.conversation],
            work.facts.facts,
            work.facts.fingerprint,
            work.facts.observed_at_ms,
            self._now_ms,
            work.grant.binding_id,
        )
        return FactsStored(taken=bool(self._run("put_facts", row)))

    def cards(self, works: Sequence[tuple[int, RenderedCards]]) -> dict[int, Outcome]:
        if not works:
            return {}
        found = self._known(works)
        outcomes: dict[int, Outcome] = {}
        for index, work in works:
            repeats, conflicts = set(), set()
            for place, card in enumerate(work.cards):
                scope = self._scope(work, card)
                first = found.get(scope)
                if first is None:
                    found[scope] = card.content
                    self._add(scope, card, work.grant.binding_id)
                elif first == card.content:
                    repeats.add(place)
                else:
                    conflicts.add(place)
                    self._note_conflict(scope, card, work.grant.binding_id)
            outcomes[index] = CardsStored(
                len(work.cards), frozenset(repeats), frozenset(conflicts)
            )
        return outcomes

    def _known(self, works: Sequence[tuple[int, RenderedCards]]) -> dict[_Scope, str]:
        wanted = {self._scope(work, card) for _, work in works for card in work.cards}
        rows = self._run("find_cards", (compact_json(sorted(wanted)),))
        return {_Scope(*scope): content for *scope, content in rows}

    def _scope(self, work: RenderedCards, card: RenderedCard) -> _Scope:
        return _Scope(self._refs[work.conversation], card.message_id, card.card_kind)

    def _add(self, scope: _Scope, card: RenderedCard, binding: BindingId) -> None:
        self._run("add_card", (*scope, card.content, self._now_ms, binding))

    def _note_conflict(
        self, scope: _Scope, card: RenderedCard, binding: BindingId
    ) -> None:
        digest = hashlib.sha256(card.content.encode()).digest()
        row = (*scope, digest, card.content, self._now_ms, binding)
        self._run("add_card_conflict", row)

    def _run(self, query: str, parameters: Iterable[object]) -> list[Any]:
        return self._database.execute(SQL[query], tuple(parameters)).fetchall()
