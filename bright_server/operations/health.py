"""`/livez` and `/readyz`: whether the server lives, and whether it can do its work.

Ready means that a probe went the way that messages go, to the disk, and was read back
(MS-15). Probes overwrite one row, so asking costs no space; while one is on its way,
further askers wait for the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bright_server.authorization.contract import Authority
from bright_server.clock import Clock
from bright_server.commit.contract import MessageCommitter
from bright_server.commit.group_committer import Committer
from bright_server.commit.groups import (
    NotStored,
    ObservationStore,
    Probe,
    ProbeStored,
)
from bright_server.errors import BrightError, StoreUnavailable

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Readiness:
    """One line for each dependency; ready when none of them failed."""

    lines: tuple[str, ...]
    is_ready: bool


class ReadinessProbe:
    """Asks every dependency at once, each within the deadline.

    A check that is late is called off, and not waited for: a driver may take its time
    to give up. Until it has, it is this dependency's only check, and no answer.
    """

    def __init__(self, checks: Mapping[str, Check], deadline_seconds: float) -> None:
        self._checks = checks
        self._deadline_seconds = deadline_seconds
        self._under_way: asyncio.Task[Readiness] | None = None
        self._late: dict[str, asyncio.Task[str | None]] = {}

    async def ask(self) -> Readiness:
        """Return what the dependencies say; joins a probe that is under way."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._probe())
        return await asyncio.shield(self._under_way)

    async def _probe(self) -> Readiness:
        faults = await asyncio.gather(
            *(self._fault_of(name, check) for name, check in self._checks.items())
        )
        lines = tuple(
            f"{name}: {fault or 'ok'}"
            for name, fault in zip(self._checks, faults, strict=True)
        )
        return Readiness(lines, not any(faults))

    async def _fault_of(self, name: str, check: Check) -> str | None:
        no_answer = f"no answer in {self._deadline_seconds:g} s"
        deadline = asyncio.get_running_loop().time() + self._deadline_seconds
        late = self._late.get(name)
        if late is not None and not await _ended(late, deadline):
            return no_answer
        asked = self._late[name] = asyncio.create_task(_checked(check))
        if not await _ended(asked, deadline):
            asked.cancel()
            return no_answer
        return asked.result()


async def _checked(check: Check) -> str | None:
    try:
        await check()
    except BrightError as error:
        return str(error)
    except TimeoutError:
        return "it gave up before the deadline"
    return None


async def _ended(task: asyncio.Task[str | None], deadline: float) -> bool:
    left = deadline - asyncio.get_running_loop().time()
    return bool((await asyncio.wait([task], timeout=max(0, left)))[0])


def store_check(committer: Committer, store: ObservationStore, clock: Clock) -> Check:
    """Check that the store writes durably, in line with messages, and reads it back."""
    last = 0

    async def check() -> None:
        nonlocal last
        # Servers that share a store share the probe, too: so it is the time.
        last = max(last + 1, clock.now_ms())
        value = last
        outcome = await committer.submit(Probe(value), 0)
        if not isinstance(outcome, ProbeStored):
            reason = outcome.reason if isinstance(outcome, NotStored) else str(outcome)
            raise StoreUnavailable("write the probe", reason)
        if await store.read_probe() < value:
            raise StoreUnavailable("read the probe back", "it is an older one")

    return check


def commits_check(committer: MessageCommitter) -> Check:
    """Check that a message could be committed by itself, in the store and its log."""
    return committer.readiness


def authority_check(authority: Authority) -> Check:
    """Check that the authority answers."""

    async def check() -> None:
        await authority.standings(())

    return check


def routes(probe: ReadinessProbe) -> list[Route]:
    """Return `GET /livez` and `GET /readyz`."""

    async def livez(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        readiness = await probe.ask()
        return PlainTextResponse(
            "".join(f"{line}\n" for line in readiness.lines),
            status_code=200 if readiness.is_ready else 503,
        )

    return [Route("/livez", livez), Route("/readyz", readyz)]
