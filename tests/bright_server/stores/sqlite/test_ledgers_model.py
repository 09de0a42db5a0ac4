"""The ledgers against the simplest model that could be right, over random groups."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import (
    BuyerFacts,
    CardsStored,
    FactsStored,
    ObservedProfiles,
    Outcome,
    ProfilesStored,
    RenderedCards,
    Work,
)
from bright_server.messages import (
    ConversationKey,
    Grant,
    ObservedFacts,
    ObservedProfile,
    RenderedCard,
)
from bright_server.settings import Settings
from bright_server.stores.sqlite.dump import dump
from bright_server.stores.sqlite.store import opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock

# Few conversations, times, cards and contents, so that all kinds of meetings come.
small = st.integers(0, 2)
seen = st.tuples(small, st.integers(0, 4), small)
profile_works = st.tuples(st.just("profiles"), st.lists(seen, max_size=5))
card_works = st.tuples(
    st.just("cards"), small, st.lists(st.tuples(small, small, small), max_size=6)
)
facts_works = st.tuples(st.just("facts"), seen)
work_lists = st.lists(profile_works | card_works | facts_works, min_size=1, max_size=5)
# What it is, its first word says.
Given: TypeAlias = tuple[Any, ...]


class Model:
    """Three dictionaries: two in which the latest wins, one in which the first does."""

    def __init__(self) -> None:
        self.profiles: dict[int, tuple[int, int]] = {}
        self.facts: dict[int, tuple[int, int]] = {}
        self.cards: dict[tuple[int, int, int], int] = {}
        self.conflicts: set[tuple[int, int, int, int]] = set()

    def expect(self, given_work: Given) -> Outcome:
        if given_work[0] == "profiles":
            won = [newest(self.profiles, *each) for each in given_work[1]]
            return ProfilesStored(frozenset(i for i, each in enumerate(won) if each))
        if given_work[0] == "facts":
            return FactsStored(taken=newest(self.facts, *given_work[1]))
        _, conversation, entries = given_work
        repeats, conflicts = set(), set()
        for place, (message, kind, content) in enumerate(entries):
            scope = (conversation, message, kind)
            if scope not in self.cards:
                self.cards[scope] = content
            elif self.cards[scope] == content:
                repeats.add(place)
            else:
                conflicts.add(place)
                self.conflicts.add((*scope, content))
        return CardsStored(len(entries), frozenset(repeats), frozenset(conflicts))


def newest(
    known: dict[int, tuple[int, int]], conversation: int, at_ms: int, content: int
) -> bool:
    if conversation in known and known[conversation][0] >= at_ms:
        return False
    known[conversation] = (at_ms, content)
    return True


def work(grant: Grant, given_work: Given) -> Work:
    if given_work[0] == "profiles":
        return ObservedProfiles(
            grant,
            ACCOUNT,
            [
                ObservedProfile(f"c{name}", None, at_ms, str(content), f"[{content}]")
                for name, at_ms, content in given_work[1]
            ],
        )
    if given_work[0] == "facts":
        name, at_ms, content = given_work[1]
        said = ObservedFacts(at_ms, str(content), f"[{content}]")
        return BuyerFacts(grant, ConversationKey(ACCOUNT, f"c{name}"), said)
    _, name, entries = given_work
    return RenderedCards(
        grant,
        ConversationKey(ACCOUNT, f"c{name}"),
        [RenderedCard(f"m{m}", f"k{k}", f"[{content}]") for m, k, content in entries],
    )


async def check(settings: Settings, groups: list[list[Given]]) -> None:
    model, clock = Model(), ManualClock()
    for part in (groups[::2], groups[1::2]):  # reopened in between
        async with opened(settings, clock) as store:
            issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
            grant = Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))
            for group in part:
                outcomes = await store.commit_group([work(grant, w) for w in group])
                assert outcomes == [model.expect(w) for w in group]
    found: dict[str, list[dict[str, object]]] = {}
    for each in dump(settings.database_path):
        found.setdefault(str(each["type"]), []).append(each)
    for kind, field, known in (
        ("contactProfile", "profile", model.profiles),
        ("buyerFacts", "facts", model.facts),
    ):
        assert {
            (e["conversationId"], e["observedAtMs"], str(e[field]))
            for e in found.get(kind, [])
        } == {(f"c{name}", at, f"[{said}]") for name, (at, said) in known.items()}
    assert {
        (e["conversationId"], e["messageId"], e["cardKind"], str(e["content"]))
        for e in found.get("renderedCard", [])
    } == {
        (f"c{c}", f"m{m}", f"k{k}", f"[{said}]")
        for (c, m, k), said in model.cards.items()
    }
    assert len(found.get("cardConflict", [])) == len(model.conflicts)


@given(st.lists(work_lists, min_size=1, max_size=5))
@trying(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ot_81_and_ot_90_the_ledgers_are_the_model(groups: list[list[Given]]) -> None:
    """OT-81, OT-90: the latest wins here, the first there, in whatever groups."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Settings(database=Path(folder) / "bright.db"), groups))
