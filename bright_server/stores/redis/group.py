"""Observed groups in Redis: the `ObservationStore`.

A group is one transaction of the server, isolated and written to its log as one: after
a crash all of it is there or nothing. The grants are read before it, and it is not
begun if a binding changed since (OT-60). A single piece of work that the server refuses
leaves the others as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from redis.exceptions import ResponseError

from bright_server.authorization.contract import Standing, standing_of
from bright_server.clock import Clock
from bright_server.commit.groups import (
    Claim,
    Denied,
    NotStored,
    ObservedBatch,
    Outcome,
    Probe,
    Work,
)
from bright_server.messages import BindingId
from bright_server.settings import Settings
from bright_server.stores.redis.answers import unavailable
from bright_server.stores.redis.bindings import bindings_of
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.conveyor import Reply
from bright_server.stores.redis.keys import BINDINGS, PROBE, Layout
from bright_server.stores.redis.works import Asked, Works

logger = logging.getLogger(__name__)


class RedisObservations:
    """See `ObservationStore`."""

    def __init__(
        self,
        link: RedisLink,
        layout: Layout,
        store_id: str,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._link = link
        self._layout = layout
        self._store_id = store_id
        self._judges_grants = settings.authority is None
        self._clock = clock

    @property
    def store_id(self) -> str:
        """See `ObservationStore.store_id`."""
        return self._store_id

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        """See `ObservationStore.commit_group`; a failure may have stored the group.

        It may be tried again all the same: what is there already is a repeat then.
        """
        attempt = _Attempt(group, Works(self._layout, self._clock.now_ms()))
        wanted = sorted({w.grant.binding_id for w in group if not isinstance(w, Probe)})

        def decide(found: Reply) -> Sequence[Asked]:
            known = bindings_of(wanted, found) if wanted else {}
            denied: dict[int, Outcome] = {}
            for index, work in enumerate(group):
                if self._judges_grants and not isinstance(work, Probe):
                    binding = known.get(work.grant.binding_id)
                    standing = standing_of(work.grant, binding)
                    if standing is not Standing.VALID:
                        denied[index] = Denied(standing)
            return attempt.commands(denied)

        # HMGET takes one name at least.
        read = ("HMGET", BINDINGS, *(wanted or [BindingId("")]))
        replies = await self._link.transact("commit a group", BINDINGS, read, decide)
        return attempt.outcomes(replies)

    async def read_probe(self) -> int:
        """See `ObservationStore.read_probe`."""
        found = await self._link.run("read the probe", ("GET", PROBE), durable=False)
        return int(found or 0)


class _Attempt:
    """A group on its way: which commands are whose."""

    def __init__(self, group: Sequence[Work], works: Works) -> None:
        self._group = group
        self._works = works
        self._outcomes: dict[int, Outcome] = {}
        self._owners: list[tuple[int, int]] = []
        self._asked: dict[int, list[Asked]] = {}
        self._unstorable: dict[int, Outcome] = {}
        for index, work in enumerate(group):
            try:
                self._asked[index] = works.asked(work)
            except (UnicodeError, OverflowError) as error:
                logger.warning("work of a group cannot be stored: %s", error)
                self._unstorable[index] = NotStored(str(error))

    def commands(self, denied: dict[int, Outcome]) -> list[Asked]:
        """Return what is to be done: batches first, claims last, the rest in order."""
        self._outcomes = self._unstorable | denied
        todo = [i for i in range(len(self._group)) if i not in self._outcomes]
        todo.sort(key=lambda index: _turn(self._group[index]))
        self._owners = [(index, len(self._asked[index])) for index in todo]
        return [each for index in todo for each in self._asked[index]]

    def outcomes(self, replies: list[Reply]) -> list[Outcome]:
        """Return what became of each piece of work, in the group's order."""
        start = 0
        for index, count in self._owners:
            mine = replies[start : start + count]
            start += count
            self._outcomes[index] = self._outcome(self._group[index], mine)
        return [self._outcomes[index] for index in range(len(self._group))]

    def _outcome(self, work: Work, replies: list[Reply]) -> Outcome:
        for reply in replies:
            if isinstance(reply, ResponseError):
                logger.warning("work of a group was not stored: %s", reply)
                return NotStored(unavailable("commit", reply).reason)
        return self._works.outcome(work, replies)


def _turn(work: Work) -> int:
    if isinstance(work, ObservedBatch):
        return 0
    return 2 if isinstance(work, Claim) else 1
