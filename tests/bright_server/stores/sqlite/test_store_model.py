"""The store against the simplest model that could be right, over random groups."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import (
    BatchCommitted,
    ObservedBatch,
)
from bright_server.messages import ConversationKey, Grant, ObservedMessages
from bright_server.settings import Settings
from bright_server.stores.sqlite.dump import dump
from bright_server.stores.sqlite.store import opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import observed, told

# (conversation, [(message, content)]): few of each, so that all kinds of repeats come.
batches = st.tuples(
    st.integers(0, 2),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), max_size=8),
)
groups = st.lists(st.lists(batches, min_size=1, max_size=4), min_size=1, max_size=6)
Batch = tuple[int, list[tuple[int, int]]]


class Model:
    """A dictionary of what was first, and a counter for each conversation."""

    def __init__(self) -> None:
        self.first: dict[tuple[int, int], tuple[int, int]] = {}
        self.conflicts: set[tuple[int, int, int]] = set()

    def expect(self, batch: Batch) -> list[tuple[str, int]]:
        conversation, messages = batch
        expected = []
        for number, content in messages:
            scope = (conversation, number)
            if scope not in self.first:
                mine = [each for each in self.first if each[0] == conversation]
                self.first[scope] = (content, len(mine) + 1)
                expected.append(("new", len(mine) + 1))
                continue
            first, sequence = self.first[scope]
            if first == content:
                expected.append(("repeat", sequence))
            else:
                self.conflicts.add((*scope, content))
                expected.append(("conflict", sequence))
        return expected


def work(grant: Grant, batch: Batch) -> ObservedBatch:
    conversation, messages = batch
    key = ConversationKey(ACCOUNT, f"conversation-{conversation}")
    rows = [observed(number, f"content {content}") for number, content in messages]
    return ObservedBatch(grant, key, 1, ObservedMessages.of(rows))


async def check(settings: Settings, given_groups: list[list[Batch]]) -> None:
    model, clock = Model(), ManualClock()
    for part in (given_groups[::2], given_groups[1::2]):  # reopened in between
        async with opened(settings, clock) as store:
            issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
            grant = Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))
            for group in part:
                outcomes = await store.commit_group([work(grant, b) for b in group])
                for batch, outcome in zip(group, outcomes, strict=True):
                    assert isinstance(outcome, BatchCommitted)
                    expected = model.expect(batch)
                    assert told(outcome) == expected
                    kinds = [kind for kind, _ in expected]
                    assert outcome.new == kinds.count("new")
                    assert len(outcome.repeats) == kinds.count("repeat")
                    assert len(outcome.conflicts) == kinds.count("conflict")
    records = list(dump(settings.database_path))
    messages = [each for each in records if each["type"] == "message"]
    assert [each["position"] for each in messages] == [*range(1, len(model.first) + 1)]
    assert {
        (each["conversationId"], each["sequence"], each["text"]) for each in messages
    } == {
        (f"conversation-{conversation}", sequence, f"content {content}")
        for (conversation, _), (content, sequence) in model.first.items()
    }
    conflicts = [each for each in records if each["type"] == "conflict"]
    assert len(conflicts) == len(model.conflicts)


@given(groups)
@trying(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ot_01_the_store_is_the_model(given_groups: list[list[Batch]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            database=Path(folder) / "bright.db", max_cached_conversations=2
        )
        asyncio.run(check(settings, given_groups))
