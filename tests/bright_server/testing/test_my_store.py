"""My store of single commits, held to what it claims."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.records import CommitKey
from bright_server.fanout.contract import OutboxPublisher
from bright_server.settings import Settings
from bright_server.stores.memory.commits import MemoryMessageStore as MyStore
from bright_server.stores.memory.store import MemoryDatabase as MyDatabase
from bright_server.testing.committer import CommitterContract
from bright_server.testing.crash.matrix import CrashMatrix
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.state_machine import run_against_model
from bright_server.testing.two_step import TwoStepStore
from bright_server.testing.under_test import Capabilities


@dataclass
class MyBackend:
    """The doors of single commits; `bright serve` would need all five."""

    commits: MessageStore
    publisher: OutboxPublisher

    async def prove_writable(self) -> None:
        await self.commits.readiness()


class MyStoreUnderTest:
    """One database, new and empty, that may be opened again and again."""

    can = Capabilities(
        atomic_step=False,  # it inherits the two steps of the contract (MS-24)
        durable=False,
        keeps_bytes=False,
        groups=False,
    )
    spec = None  # or "my_store.under_test:function argument": who else may open it

    def __init__(self) -> None:
        self.database = MyDatabase()

    @asynccontextmanager
    async def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AsyncIterator[Any]:
        data, settings = self.database, Settings.model_validate(changes)
        store = MyStore(data.commits, data.leases, membership, settings, clock)
        yield MyBackend(TwoStepStore(store), data.commits.log)

    async def published(self, backend: Backend) -> Sequence[str]:
        return [each.key for each in self.database.commits.log.envelopes]

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        commits = self.database.commits
        for there in (commits.intents.get(key), commits.committed.get(key)):
            if there is not None:
                object.__setattr__(there, "identity", identity)

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        raise NotImplementedError("it keeps no bytes")


@pytest.fixture
def stores() -> MyStoreUnderTest:
    return MyStoreUnderTest()


class TestMyStore(MessageStoreContract):
    """Every promise of `MessageStore`."""


class TestMyCommits(CommitterContract):
    """The committer over it: retries, races, recovery."""


class TestMyCrashes(CrashMatrix):
    kills = False  # no other process can open it: lost replies only


def test_my_store_behaves_like_the_model() -> None:
    run_against_model(MyStoreUnderTest, examples=5)
