"""A store against the reference model, over random histories.

It needs Hypothesis, which the extra `bright-sync[testing]` brings.

    def test_the_store_behaves_like_the_model() -> None:
        run_against_model(MyStoreUnderTest)

Each example is a store of its own, used, closed and opened again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from bright_server.commit.backend import Backend
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
)
from bright_server.errors import IdentityConflict, MessageStoreError
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.reference_model import Known, ReferenceModel
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    candidate_of,
    elsewhere,
    published,
    sending,
)
from bright_server.testing.under_test import StoreUnderTest

T = TypeVar("T")

CONVERSATIONS: Final = (CONVERSATION, OTHER_CONVERSATION)
# Few keys and few contents, so that all kinds of meetings come.
requests = st.builds(
    lambda name, text, conversation: sending(
        f"m{name}", f"text {text}", conversation=CONVERSATIONS[conversation]
    ),
    st.integers(0, 3),
    st.integers(0, 1),
    st.integers(0, 1),
)
names = st.integers(0, 3).map(lambda name: sending(f"m{name}").key)


class StoreMachine(RuleBasedStateMachine):
    """Does to a store what anybody may do, and holds each answer to the model's."""

    make: Callable[[], StoreUnderTest]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.model = ReferenceModel()
        self.intents: dict[CommitKey, CommitIntent] = {}
        self.places: dict[CommitKey, OutboxPublication] = {}
        self.ticks = 0

    @initialize()
    def begin(self) -> None:
        """Make a store of this example's own, and open it."""
        self.stores = type(self).make()
        self._open()

    def _open(self) -> None:
        self.clock = ManualClock()
        self.opening: AbstractAsyncContextManager[Backend] = self.stores.opened(
            self.clock, Everybody()
        )
        self.backend = self._run(self.opening.__aenter__())

    def _close(self) -> None:
        self._run(self.opening.__aexit__(None, None, None))

    def _run(self, work: Awaitable[T]) -> T:
        async def doing() -> T:
            return await work

        return self.loop.run_until_complete(doing())

    def _answer_of(self, work: Awaitable[T]) -> T | type[Exception]:
        """Return what a call returns, or the kind of its refusal."""
        try:
            return self._run(work)
        except MessageStoreError as error:
            return type(error)

    def teardown(self) -> None:
        """Close the store, and the loop that it ran in."""
        if hasattr(self, "backend"):
            self._close()
        self._run(self.loop.shutdown_asyncgens())
        self.loop.close()

    @rule()
    def restart(self) -> None:
        """Close the store and open it again."""
        self._close()
        self._open()

    @rule(request=requests)
    def reserve(self, request: AuthenticatedSend) -> None:
        """MS-12, MS-20: reserve a key, or be refused it."""
        self.ticks += 1
        at_ms = NOW_MS + self.ticks
        candidate = candidate_of(request, created_at_ms=at_ms)
        due = self.model.reserve(request, at_ms)
        given = self._answer_of(
            self.backend.commits.reserve(request, DELIVERY, candidate)
        )
        if due is None:
            assert given is IdentityConflict
            return
        assert isinstance(given, CommitIntent | CommittedMessage)
        self._same(given, due)
        if isinstance(given, CommitIntent):
            self.intents.setdefault(request.key, given)

    @rule(request=requests)
    def load(self, request: AuthenticatedSend) -> None:
        """MS-12: read what a request has come to."""
        due = self.model.load(request)
        given = self._answer_of(self.backend.commits.load_commit_for_request(request))
        if due is None or due is IdentityConflict:
            assert given is due
        else:
            assert isinstance(given, CommitIntent | CommittedMessage)
            assert isinstance(due, Known)
            self._same(given, due)

    @rule(key=names)
    def put_record(self, key: CommitKey) -> None:
        """MS-22: record, once or again."""
        if key in self.intents:
            given = self._answer_of(self.backend.commits.put_record(self.intents[key]))
            assert given is self.model.record(key)

    @rule(key=names, other=st.booleans())
    def mark_outbox_published(self, key: CommitKey, *, other: bool) -> None:
        """MS-22: keep a publication, or another one."""
        place = self._place_of(key, other=other)
        if place is not None:
            given = self._answer_of(
                self.backend.commits.mark_outbox_published(self.intents[key], place)
            )
            assert given is self.model.publish(key, place)

    @rule(key=names)
    def mark_committed(self, key: CommitKey) -> None:
        """MS-22: commit what is published."""
        if key in self.intents:
            given = self._answer_of(
                self.backend.commits.mark_committed(self.intents[key])
            )
            self._acknowledged(key, given, self.model.commit(key))

    @rule(key=names, other=st.booleans())
    def mark_published_and_committed(self, key: CommitKey, *, other: bool) -> None:
        """MS-23: do both at once."""
        place = self._place_of(key, other=other)
        if place is not None:
            given = self._answer_of(
                self.backend.commits.mark_published_and_committed(
                    self.intents[key], place
                )
            )
            due = self.model.publish_and_commit(key, place)
            self._acknowledged(key, given, due)

    @invariant()
    def what_is_due_is_what_is_open(self) -> None:
        """MS-21: recovery is given all that is open, and nothing else."""
        if not hasattr(self, "backend"):
            return
        scan = self.backend.commits.scan_recoverable_commits
        due = self._run(scan(NOW_MS + self.ticks, 100))
        assert {each.key for each in due} == self.model.due(NOW_MS + self.ticks)

    @invariant()
    def history_has_what_is_recorded(self) -> None:
        """MS-28: no record is missing, none is there too early."""
        if not hasattr(self, "backend"):
            return
        for conversation in CONVERSATIONS:
            query = HistoryQuery("a", conversation, "newer", None, 100, 1_000_000)
            page = self._run(self.backend.commits.history_page(query))
            given = [item.sequence for item in page.items]
            assert given == self.model.history(conversation)

    def _place_of(self, key: CommitKey, *, other: bool) -> OutboxPublication | None:
        """Return where an intent stands in the log; published only once recorded."""
        there = self.model.known.get(key)
        if key not in self.intents or there is None:
            return None
        if there.state >= CommitState.RECORDED:
            place = self._run(published(self.backend, self.intents[key]))
            assert self.places.setdefault(key, place) == place
        elif self.places:
            place = next(iter(self.places.values()))
        else:
            return None
        return elsewhere(place) if other else place

    def _acknowledged(self, key: CommitKey, given: object, due: object) -> None:
        if due is not None:
            assert given is due
            return
        assert isinstance(given, CommittedMessage)
        self._same(given, self.model.known[key])

    def _same(self, given: LoadedCommit, due: Known) -> None:
        """See that an answer is of the key, the place and the state that are due."""
        assert given.key == due.request.key
        assert given.coordinates.conversation == due.request.conversation
        assert given.coordinates.sequence == due.sequence
        if due.state is CommitState.COMMITTED:
            assert isinstance(given, CommittedMessage)
            assert given.publication == due.publication
        else:
            assert isinstance(given, CommitIntent)
            first = self.intents.get(given.key, given)
            assert given == replace(first, state=due.state, publication=due.publication)


def run_against_model(
    make: Callable[[], StoreUnderTest], examples: int = 30, steps: int = 30
) -> None:
    """Hold stores, a new one an example, to the reference model.

    Raises:
        AssertionError: a store answered otherwise; with the shortest history found.
    """

    class Machine(StoreMachine):
        pass

    machine: Any = Machine
    machine.make = staticmethod(make)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
