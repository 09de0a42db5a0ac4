"""The door of observed groups: one group, one transaction (MS-23)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from bright_server.clock import Clock
from bright_server.commit.groups import NotStored, Outcome, Probe, Work
from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.postgresql.database import (
    Database,
    Transaction,
    is_about_the_data,
)
from bright_server.stores.postgresql.group import GroupWriter

logger = logging.getLogger(__name__)


class PostgresqlObservations:
    """See `ObservationStore`.

    Nothing is remembered from one group to the next: other servers write there too.
    """

    def __init__(
        self, database: Database, store_id: str, settings: Settings, clock: Clock
    ) -> None:
        self._database = database
        self._store_id = store_id
        self._settings = settings
        self._clock = clock

    @property
    def store_id(self) -> str:
        """See `ObservationStore.store_id`."""
        return self._store_id

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        """See `ObservationStore.commit_group`."""
        outcomes = await self._commit_together(group)
        probes = [i for i, work in enumerate(group) if isinstance(work, Probe)]
        if probes and (fault := await self._room_fault()) is not None:
            return [fault if i in probes else each for i, each in enumerate(outcomes)]
        return outcomes

    async def _commit_together(self, group: Sequence[Work]) -> list[Outcome]:
        try:
            return await self._commit(group)
        except StoreUnavailable as error:
            if len(group) == 1 or not is_about_the_data(error.__cause__):
                raise
            logger.warning("a group of %d is done one by one: %s", len(group), error)
        return [await self._commit_alone(work) for work in group]

    async def _room_fault(self) -> NotStored | None:
        """Say why there may be no room for messages, though there was for a probe."""
        try:
            await self._database.prove_room()
        except StoreUnavailable as error:
            return NotStored(error.reason)
        return None

    async def read_probe(self) -> int:
        """See `ObservationStore.read_probe`."""
        rows = await self._database.run("read the probe", "read_probe")
        return int(rows[0][0])

    async def _commit_alone(self, work: Work) -> Outcome:
        try:
            return (await self._commit([work]))[0]
        except StoreUnavailable as error:
            logger.warning("work of a group was not stored: %s", error)
            return NotStored(error.reason)

    async def _commit(self, group: Sequence[Work]) -> list[Outcome]:
        async def work(transaction: Transaction) -> list[Outcome]:
            writer = GroupWriter(
                transaction,
                self._clock.now_ms(),
                judges_grants=self._settings.authority is None,
            )
            return await writer.write(group)

        return await self._database.write("commit", work)
