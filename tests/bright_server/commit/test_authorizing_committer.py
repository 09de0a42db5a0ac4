"""The committer that asks first, over the real store and the real group committer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.authorizing_committer import AuthorizingCommitter
from bright_server.commit.group_committer import GroupCommitter, GroupReport
from bright_server.commit.groups import (
    BatchCommitted,
    ClaimProven,
    Denied,
    NotStored,
    Probe,
    ProbeStored,
)
from bright_server.errors import AuthorityUnavailable, CommitterStopped, Overloaded
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import batch, claim, observed

# A question too many is one that nobody lets go.
pytestmark = pytest.mark.timeout(30)

ONE = Grant(BindingId("one"), 1, frozenset({ACCOUNT}))
TWO = Grant(BindingId("two"), 1, frozenset({ACCOUNT}))


class HeldAuthority:
    """Answers a question only when it is let, and remembers who was asked about."""

    def __init__(self) -> None:
        self.questions: list[set[Grant]] = []
        self.asked = asyncio.Semaphore(0)
        self.revoked: set[Grant] = set()
        self.fault: Exception | None = None
        self._may_go = asyncio.Semaphore(0)

    def let_go(self, questions: int = 1) -> None:
        for _ in range(questions):
            self._may_go.release()

    async def authenticate(self, token: str) -> Grant:
        raise NotImplementedError

    async def standings(self, grants: Iterable[Grant]) -> Mapping[Grant, Standing]:
        question = set(grants)
        self.questions.append(question)
        self.asked.release()
        await self._may_go.acquire()
        if self.fault is not None:
            raise self.fault
        return {
            each: Standing.REVOKED if each in self.revoked else Standing.VALID
            for each in question
        }


class Watch:
    def __init__(self) -> None:
        self.groups: list[int] = []

    def group_committed(self, report: GroupReport) -> None:
        self.groups.append(report.items)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"authority": "https://auth.example"})


@pytest.fixture
def authority() -> HeldAuthority:
    return HeldAuthority()


@asynccontextmanager
async def gated(
    store: SqliteStore, authority: HeldAuthority, settings: Settings
) -> AsyncIterator[AuthorizingCommitter]:
    inner = GroupCommitter(store, settings, ManualClock(), Watch())
    gate = AuthorizingCommitter(inner, authority, settings)
    tasks = [asyncio.create_task(each.run()) for each in (inner, gate)]
    try:
        yield gate
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def gate(
    store: SqliteStore, authority: HeldAuthority, settings: Settings
) -> AsyncIterator[AuthorizingCommitter]:
    async with gated(store, authority, settings) as gate:
        yield gate


async def test_ot_60_what_gathers_is_asked_about_once_and_only_after_it_came(
    gate: AuthorizingCommitter, authority: HeldAuthority
) -> None:
    """OT-60: one question for a group, and each work's question is later than it."""
    first = gate.submit(batch(ONE, observed(1)), 10)
    await authority.asked.acquire()
    rest = [gate.submit(batch(ONE, observed(n)), 10) for n in (2, 3)]
    rest.append(gate.submit(batch(TWO, observed(4)), 10))
    authority.revoked.add(TWO)
    authority.let_go(2)
    outcomes = await asyncio.gather(first, *rest)

    assert authority.questions == [{ONE}, {ONE, TWO}]
    assert [type(each) for each in outcomes[:3]] == [BatchCommitted] * 3
    assert [list(each.sequences) for each in outcomes[:3]] == [[1], [2], [3]]  # type: ignore[union-attr]
    assert outcomes[3] == Denied(Standing.REVOKED)
    assert (gate.pending_items, gate.pending_bytes) == (0, 0)


@pytest.mark.parametrize("fault", [AuthorityUnavailable("away"), ValueError("a fault")])
async def test_ot_60_without_an_answer_nothing_is_stored_and_the_next_is_asked_anew(
    gate: AuthorizingCommitter, authority: HeldAuthority, fault: Exception
) -> None:
    """OT-60: no answer is a no, a fault of this program included."""
    authority.fault = fault
    authority.let_go(2)
    refused = await gate.submit(batch(ONE, observed(1)), 10)
    authority.fault = None
    stored = await gate.submit(batch(ONE, observed(1)), 10)

    assert refused == Denied(Standing.UNKNOWN)
    assert isinstance(stored, BatchCommitted)
    assert stored.new == 1


async def test_ot_50_a_claim_waits_for_the_batches_that_came_while_it_was_asked_about(
    gate: AuthorizingCommitter, authority: HeldAuthority
) -> None:
    """OT-50: proven only when nothing of its conversation is pending."""
    first = gate.submit(batch(ONE, observed(1)), 10)
    claimed = gate.submit(claim(ONE, 1), 10)
    await authority.asked.acquire()
    late = gate.submit(batch(ONE, observed(2)), 10)
    authority.let_go()
    await first
    await authority.asked.acquire()
    assert not claimed.done()
    authority.let_go()

    assert isinstance(await late, BatchCommitted)
    assert isinstance(await claimed, ClaimProven)
    assert authority.questions == [{ONE}, {ONE}]


async def test_a_probe_passes_without_a_question(
    gate: AuthorizingCommitter, authority: HeldAuthority
) -> None:
    """MS-15: the store's line is not red because of the authority."""
    assert await gate.submit(Probe(7), 0) == ProbeStored()
    assert authority.questions == []


async def test_what_waits_for_an_answer_counts_into_the_bound(
    store: SqliteStore, authority: HeldAuthority, settings: Settings
) -> None:
    bounded = settings.model_copy(update={"max_pending_bytes": 100})
    async with gated(store, authority, bounded) as gate:
        first = gate.submit(batch(ONE, observed(1)), 70)
        await authority.asked.acquire()
        with pytest.raises(Overloaded):
            gate.submit(batch(ONE, observed(2)), 70)
        second = gate.submit(batch(ONE, observed(3)), 30)
        assert (gate.pending_bytes, gate.pending_items) == (100, 1)
        authority.let_go(2)

        assert isinstance(await first, BatchCommitted)
        assert isinstance(await second, BatchCommitted)
        assert gate.pending_bytes == 0


async def test_draining_takes_no_more_and_waits_for_what_was_taken(
    gate: AuthorizingCommitter, authority: HeldAuthority
) -> None:
    first = gate.submit(batch(ONE, observed(1)), 10)
    draining = asyncio.create_task(gate.drain())
    await authority.asked.acquire()
    with pytest.raises(CommitterStopped):
        gate.submit(batch(ONE, observed(2)), 10)
    assert not draining.done()
    authority.let_go()
    await draining

    assert isinstance(first.result(), BatchCommitted)


async def test_what_is_abandoned_is_answered_and_never_stored(
    gate: AuthorizingCommitter, authority: HeldAuthority, store: SqliteStore
) -> None:
    asked_about = gate.submit(batch(ONE, observed(1)), 10)
    await authority.asked.acquire()
    waiting = gate.submit(batch(ONE, observed(2)), 10)
    gate.abandon()
    assert isinstance(await asked_about, NotStored)
    assert isinstance(await waiting, NotStored)
    authority.let_go(2)
    again = await gate.submit(batch(ONE, observed(1)), 10)

    assert isinstance(again, BatchCommitted)
    assert (again.new, list(again.sequences)) == (1, [1])
