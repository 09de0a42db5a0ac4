"""Goes on with commits whose sender never came back (MS-21, MS-26).

Every server of a store runs one. A lease lets one of them work at a time, which saves
work and is not what makes it safe: two that recover the same commit converge, as any
two senders of one key do. A dead process's lease ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import uuid4

from bright_server.clock import Clock
from bright_server.commit.contract import MessageCommitter, MessageStore
from bright_server.commit.fault_points import NO_FAULTS, FaultPoint, FaultPoints
from bright_server.errors import CommitError, MessageStoreError
from bright_server.settings import Settings

logger = logging.getLogger(__name__)

LEASE: Final = "commit-recovery"
_END_OF_TIME_MS: Final = 2**53


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """One pass, for whoever watches.

    `held_lease` is false when another process recovers; `failure` is why the pass ended
    early, in one line.
    """

    held_lease: bool
    recovered: int
    seconds: float
    failure: str | None = None


class RecoveryWatch(Protocol):
    """Is told of every pass."""

    def pass_ended(self, report: RecoveryReport) -> None:
        """Take note; must not raise and must not wait."""
        ...


class Unwatched:
    """Nobody watches."""

    def pass_ended(self, report: RecoveryReport) -> None:
        """Do nothing."""


class CommitRecovery:
    """The loop around `MessageCommitter.recover_due`."""

    def __init__(
        self,
        store: MessageStore,
        committer: MessageCommitter,
        settings: Settings,
        clock: Clock,
        watch: RecoveryWatch | None = None,
        faults: FaultPoints = NO_FAULTS,
    ) -> None:
        self._store = store
        self._committer = committer
        self._settings = settings
        self._clock = clock
        self._watch = watch or Unwatched()
        self._faults = faults
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    async def run(self) -> None:
        """Recover until cancelled; what goes wrong is said, and tried again later."""
        while True:
            await self.pass_once()
            await asyncio.sleep(self._settings.recovery_interval_seconds)

    async def pass_once(self) -> RecoveryReport:
        """Finish what is due, batch by batch; never raises for what a store says."""
        began = self._clock.steady_seconds()
        held, recovered, failure = False, 0, None
        try:
            while await self._holds_lease():
                held = True
                finished = await self._committer.recover_due(
                    self._clock.now_ms() - self._settings.recovery_age_ms,
                    self._settings.max_recovery_batch,
                )
                recovered += finished
                # As long as there is progress: what is stuck waits for the next pass,
                # and what is behind it does not.
                if not finished:
                    break
            if held:
                recovered += await self._recover_from_ahead()
        except (CommitError, MessageStoreError) as error:
            failure = str(error)
            logger.warning("recovery of commits ended early: %s", error)
        except Exception as error:
            # A fault of this program: the loop lives on.
            failure = type(error).__name__
            logger.exception("recovery of commits failed")
        seconds = self._clock.steady_seconds() - began
        report = RecoveryReport(held, recovered, seconds, failure)
        if recovered:
            logger.info("recovered %d commits in %.1f s", recovered, seconds)
        self._watch.pass_ended(report)
        return report

    async def _recover_from_ahead(self) -> int:
        """Finish what a clock that ran ahead has dated, and return how much it was.

        Once that clock is right again, it would be due only when its date has come; and
        readers of its conversation wait for it.
        """
        settings = self._settings
        left = await self._store.scan_recoverable_commits(
            _END_OF_TIME_MS, settings.max_commits_under_way
        )
        recovered = 0
        for intent in left:
            ahead_ms = intent.record.created_at_ms - self._clock.now_ms()
            if ahead_ms <= settings.recovery_age_ms:
                continue
            try:
                await self._committer.resume(intent.key)
            except CommitError as error:
                name = intent.key.client_message_id
                logger.warning("%r was not recovered: %s", name, error)
            else:
                recovered += 1
        return recovered

    async def _holds_lease(self) -> bool:
        holds = await self._store.hold_lease(
            LEASE, self.holder, self._settings.recovery_lease_ms
        )
        if holds:
            await self._faults.reach(FaultPoint.LEASE_HELD)
        return holds
