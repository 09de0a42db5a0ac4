"""The process that dies: it opens a store, commits, and kills itself at its cut.

`python -m bright_server.testing.crash.victim` reads jobs, one a line, and gives each to
a process of its own, forked before anything was opened. What a job's process has seen
it says on standard output, a line each; how it ended, its parent says last.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NoReturn, TypeVar

from bright_server.commit.contract import MessageStore
from bright_server.commit.fault_points import FaultPoint
from bright_server.commit.records import CommitIntent, CommittedMessage
from bright_server.commit.recovery import CommitRecovery
from bright_server.fanout.contract import (
    CommittedEnvelope,
    LogPosition,
    OutboxPublisher,
)
from bright_server.testing.committer_suite.committing import committer_over
from bright_server.testing.crash.cuts import Cut, How
from bright_server.testing.delegating_store import AtomicDelegatingStore
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    Everybody,
    candidate_of,
    changed_settings,
    published,
    sending,
)
from bright_server.testing.two_step import TwoStepStore
from bright_server.testing.under_test import from_spec
from bright_server.testing.waits import Waits

T = TypeVar("T")

VICTIM = "victim"
LEASE_MS = 100


def die() -> NoReturn:
    """End this process as a power cut of it would."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL was survived")


def say(what: str, **facts: object) -> None:
    """Tell whoever is left what was seen, before it can be lost."""
    print(json.dumps({"what": what, **facts}), flush=True)  # noqa: T201 - a pipe


class FatalPoints:
    """Dies when a point is reached."""

    def __init__(self, point: FaultPoint | None) -> None:
        self._point = point

    async def reach(self, point: FaultPoint) -> None:
        """See `FaultPoints.reach`."""
        if point is self._point:
            die()


async def fatally(how: How, call: Callable[[], Awaitable[T]]) -> T:
    """Make a call, and die of it."""
    if how is How.KILLED_BEFORE:
        die()
    if how is How.KILLED_DURING:
        under_way = asyncio.ensure_future(call())
        # One turn of the loop: the question is on its way, the answer is not read.
        await asyncio.sleep(0)
        under_way.cancelled()  # it is referred to until the end
        die()
    return await call()


class FatalStore(AtomicDelegatingStore):
    """Dies of one of its calls, and says what the others have brought."""

    def __init__(self, inner: MessageStore, cut: Cut) -> None:
        super().__init__(inner)
        self._cut = cut

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if name == self._cut.step:
            result = await fatally(self._cut.how, call)
        else:
            result = await call()
        if isinstance(result, CommitIntent):
            say("reserved", sequence=result.coordinates.sequence)
        elif isinstance(result, CommittedMessage):
            say("committed", **told(result))
        return result


class FatalPublisher:
    """Dies of publishing, if that is its cut."""

    def __init__(self, inner: OutboxPublisher, cut: Cut) -> None:
        self._inner = inner
        self._cut = cut

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`."""
        if self._cut.step == "publish":
            return await fatally(self._cut.how, lambda: self._inner.publish(envelope))
        return await self._inner.publish(envelope)

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`."""
        await self._inner.readiness()


def told(message: CommittedMessage) -> dict[str, object]:
    """Return an ACK as plain values."""
    position = message.publication.position
    return {
        "message_id": message.coordinates.message_id,
        "sequence": message.coordinates.sequence,
        "partition": position.partition,
        "offset": position.offset,
    }


async def commit(spec: str, cut: Cut) -> None:
    """Commit one message and die on the way."""
    clock, members = ManualClock(), Everybody()
    faults = FatalPoints(cut.point if cut.how is How.KILLED_AFTER else None)
    async with from_spec(spec).opened(clock, members) as backend:
        store: MessageStore = FatalStore(backend.commits, cut)
        if cut.two_step:
            store = TwoStepStore(store, faults)
        committer = committer_over(
            store,
            FatalPublisher(backend.publisher, cut),
            members,
            changed_settings(),
            clock,
            faults,
        )
        request = sending(VICTIM)
        await committer.commit(request, DELIVERY, candidate_of(request))


async def recover(spec: str, point: FaultPoint) -> None:
    """Recover what is due and die on the way."""
    clock, members, faults = ManualClock(), Everybody(), FatalPoints(point)
    settings = changed_settings(
        recovery_age_ms=1, recovery_lease_ms=LEASE_MS, max_recovery_at_once=1
    )
    async with from_spec(spec).opened(clock, members) as backend:
        committer = committer_over(
            backend.commits, backend.publisher, members, settings, clock, faults
        )
        recovery = CommitRecovery(
            backend.commits, committer, settings, clock, faults=faults
        )
        await recovery.pass_once()


async def commit_half(spec: str, name: str, wait: int) -> None:
    """Take the atomic step of a recorded message and die as a wait of it has ended.

    If it did not wait so often it dies when all is done.
    """

    def ended(number: int) -> None:
        if number == wait:
            die()

    async with from_spec(spec).opened(ManualClock(), Everybody()) as backend:
        commits = backend.commits
        intent = await commits.load_commit(sending(name).key, CONVERSATION)
        assert isinstance(intent, CommitIntent)
        place = await published(backend, intent)
        step = partial(commits.mark_published_and_committed, intent, place)
        say("committed", **told(await Waits(step, ended=ended)))
        die()


def run(job: dict[str, Any]) -> None:
    """Do one job, which should not return."""
    if "wait" in job:
        asyncio.run(commit_half(job["spec"], job["name"], job["wait"]))
    elif "recovery" in job:
        asyncio.run(recover(job["spec"], FaultPoint(job["recovery"])))
    else:
        asyncio.run(commit(job["spec"], Cut.of_json(job["cut"])))


def main() -> None:
    """Take jobs until there are no more."""
    for line in sys.stdin:
        job = json.loads(line)
        from_spec(job["spec"])  # imported here, each process need not
        child = os.fork()
        if child == 0:
            try:
                run(job)
            except BaseException:  # noqa: BLE001 - whatever it was, it is said
                say("failed", error=traceback.format_exc())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say("ended", signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None)


if __name__ == "__main__":
    main()
