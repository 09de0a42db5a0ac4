"""Before the committer: with a remote authority, each group is asked about first.

The embedded authority is judged by inside the transaction. A service cannot be, so what
the connections want stored waits here: while one question is under way everything
gathers, and the next question is one for all of it (OT-60). What may gather counts into
the committer's bound.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from functools import partial

from bright_server.authorization.contract import Authority, Standing
from bright_server.commit.group_committer import Committer, Pending
from bright_server.commit.groups import (
    Claim,
    Denied,
    NotStored,
    ObservedBatch,
    Outcome,
    Probe,
    Work,
)
from bright_server.errors import (
    AuthorityUnavailable,
    CommitError,
    CommitterStopped,
    Overloaded,
)
from bright_server.messages import Grant
from bright_server.settings import Settings

logger = logging.getLogger(__name__)


class AuthorizingCommitter:
    """A `Committer` that lets only work through whose grant holds at that time."""

    def __init__(
        self, committer: Committer, authority: Authority, settings: Settings
    ) -> None:
        self._committer = committer
        self._authority = authority
        self._settings = settings
        self._waiting: deque[Pending] = deque()
        self._asked_about: list[Pending] = []
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopped = False

    @property
    def pending_items(self) -> int:
        """See `Committer.pending_items`."""
        return len(self._waiting) + self._committer.pending_items

    @property
    def pending_bytes(self) -> int:
        """See `Committer.pending_bytes`."""
        return self._waiting_bytes + self._committer.pending_bytes

    def submit(self, work: Work, size_bytes: int) -> asyncio.Future[Outcome]:
        """See `Committer.submit`; a probe is nobody's and passes at once."""
        if self._stopped:
            raise CommitterStopped
        if isinstance(work, Probe):
            return self._committer.submit(work, size_bytes)
        held, limit = self.pending_bytes, self._settings.max_pending_bytes
        if held and held + size_bytes > limit:
            raise Overloaded(held, limit)
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append(Pending(work, size_bytes, outcome))
        self._waiting_bytes += size_bytes
        self._arrived.set()
        self._idle.clear()
        return outcome

    async def run(self) -> None:
        """Ask and pass on, until cancelled."""
        try:
            while True:
                await self._arrived.wait()
                await self._ask_about_some()
                if not self._waiting:
                    self._arrived.clear()
                    self._idle.set()
        finally:
            self._give_back()

    async def drain(self) -> None:
        """See `Committer.drain`."""
        self._stopped = True
        await self._idle.wait()
        await self._committer.drain()

    def abandon(self) -> None:
        """See `Committer.abandon`."""
        self._give_back()
        self._committer.abandon()

    async def _ask_about_some(self) -> None:
        most = min(len(self._waiting), self._settings.max_group_items)
        self._asked_about = [self._waiting.popleft() for _ in range(most)]
        grants = {grant for each in self._asked_about if (grant := _grant(each.work))}
        standings: Mapping[Grant, Standing] = {}
        try:
            standings = await self._authority.standings(grants)
        except AuthorityUnavailable as error:
            logger.warning("a group of %d is not stored: %s", most, error)
        except Exception:
            logger.exception("a group of %d could not be asked about", most)
        held_back = self._conversations_of_waiting_batches()
        asked_about, self._asked_about = self._asked_about, []
        for each in asked_about:
            if isinstance(each.work, Claim) and each.work.conversation in held_back:
                # Proven only when nothing of its conversation is pending (OT-50).
                self._waiting.append(each)
                continue
            grant = _grant(each.work)
            standing = standings.get(grant, Standing.UNKNOWN) if grant else None
            if standing is Standing.VALID:
                self._pass_on(each)
            else:
                self._settle(each, Denied(standing or Standing.UNKNOWN))

    def _conversations_of_waiting_batches(self) -> set[object]:
        return {
            each.work.conversation
            for each in self._waiting
            if isinstance(each.work, ObservedBatch)
        }

    def _pass_on(self, pending: Pending) -> None:
        # From here on it counts at the committer, and no longer here.
        self._waiting_bytes -= pending.size_bytes
        work, pending.size_bytes, size_bytes = pending.work, 0, pending.size_bytes
        try:
            stored = self._committer.submit(work, size_bytes)
        except CommitError as error:
            self._settle(pending, NotStored(str(error)))
        else:
            stored.add_done_callback(partial(self._stored, pending))

    def _stored(self, pending: Pending, stored: asyncio.Future[Outcome]) -> None:
        self._settle(
            pending,
            NotStored("the server is stopping")
            if stored.cancelled()
            else stored.result(),
        )

    def _settle(self, pending: Pending, outcome: Outcome) -> None:
        self._waiting_bytes -= pending.size_bytes
        if not pending.outcome.done():
            pending.outcome.set_result(outcome)

    def _give_back(self) -> None:
        left = [*self._asked_about, *self._waiting]
        self._asked_about = []
        self._waiting.clear()
        for each in left:
            self._settle(each, NotStored("the server is stopping"))
        self._idle.set()


def _grant(work: Work) -> Grant | None:
    return None if isinstance(work, Probe) else work.grant
