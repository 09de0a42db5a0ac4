"""The store in memory, as the contract kit judges it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, cast

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership
from bright_server.commit.records import CommitKey
from bright_server.settings import Settings
from bright_server.stores.memory.store import MemoryBackend, MemoryDatabase, opened
from bright_server.testing.under_test import Capabilities


class MemoryUnderTest:
    """One database in memory: closing it is no end of it, only of its process.

    It has no `unwritable`: memory that is there can always be written.
    """

    can = Capabilities(durable=False, several_group_writers=True, keeps_bytes=False)
    spec = None

    def __init__(self) -> None:
        self.database = MemoryDatabase()

    def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AbstractAsyncContextManager[MemoryBackend]:
        settings = Settings(**cast("dict[str, Any]", changes))
        return opened(settings, clock, membership, self.database)

    async def published(self, backend: Backend) -> Sequence[str]:
        return [each.key for each in self.database.commits.log.envelopes]

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        commits = self.database.commits
        if key in commits.intents:
            kept = commits.intents[key]
            commits.intents[key] = replace(kept, identity=identity)
        else:
            done = commits.committed[key]
            commits.committed[key] = replace(done, identity=identity)

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        raise NotImplementedError("memory keeps no bytes")
