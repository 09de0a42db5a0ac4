"""The back end in memory: what there is, and every door into it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bright_server.clock import Clock
from bright_server.commit.contract import NOBODY, Membership
from bright_server.logs.memory import MemoryLog
from bright_server.settings import Settings
from bright_server.stores.memory.bindings import MemoryBindings
from bright_server.stores.memory.commits import MemoryMessageStore
from bright_server.stores.memory.observations import MemoryObservations, Observations
from bright_server.stores.memory.reader import MemoryMessages
from bright_server.stores.memory.state import Commits


@dataclass(slots=True)
class MemoryDatabase:
    """All that there is. It may be opened again and again, as a file would be."""

    commits: Commits = field(default_factory=Commits)
    observations: Observations = field(default_factory=Observations)
    bindings: MemoryBindings = field(default_factory=MemoryBindings)
    leases: dict[str, tuple[str, int]] = field(default_factory=dict)


class MemoryBackend:
    """See `Backend`; made by `opened`."""

    def __init__(
        self,
        database: MemoryDatabase,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self.commits = MemoryMessageStore(
            database.commits, database.leases, membership, settings, clock
        )
        self.observations = MemoryObservations(
            database.commits,
            database.observations,
            database.bindings,
            settings,
            clock,
        )
        self.publisher: MemoryLog = database.commits.log
        self.bindings = database.bindings
        self.messages = MemoryMessages(database.commits, database.observations.ledgers)

    async def prove_writable(self) -> None:
        """See `Backend.prove_writable`."""
        await self.commits.readiness()


@asynccontextmanager
async def opened(
    settings: Settings,
    clock: Clock,
    membership: Membership = NOBODY,
    database: MemoryDatabase | None = None,
) -> AsyncIterator[MemoryBackend]:
    """Open a database in memory; without one, a new one that ends with the block."""
    yield MemoryBackend(database or MemoryDatabase(), membership, settings, clock)
