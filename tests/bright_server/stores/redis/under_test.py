"""The Redis back end, as the contract suites open and judge it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership
from bright_server.commit.records import CommitKey
from bright_server.settings import Settings
from bright_server.stores.redis.log_reading import every_entry
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.under_test import Capabilities


class RedisUnderTest:
    """A numbered database of a running server."""

    can = Capabilities(several_group_writers=True)

    def __init__(self, address: str) -> None:
        self._address = address

    @property
    def spec(self) -> str:
        return f"{__name__}:under_test {self._address}"

    def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AbstractAsyncContextManager[Backend]:
        given: dict[str, object] = {"database": self._address, "redis_shards": 8}
        settings = Settings.model_validate(given | changes)
        return opened(settings, clock, membership)

    async def published(self, backend: Backend) -> Sequence[str]:
        assert isinstance(backend, RedisBackend)
        return [each.key async for each in every_entry(backend.link, backend.layout)]

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        assert isinstance(backend, RedisBackend)
        conversation = await backend.commits.conversation_of(key)
        assert conversation is not None
        keys, name = backend.layout.commit(key, conversation)
        await backend.link.run(
            "replace", ("HSET", keys.shard.commit(name), "d", identity)
        )

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        assert isinstance(backend, RedisBackend)
        conversation = await backend.commits.conversation_of(key)
        assert conversation is not None
        keys, name = backend.layout.commit(key, conversation)
        where = keys.shard.commit(name)
        kept = await backend.link.run("read", ("HGET", where, "f"))
        await backend.link.run("replace", ("HSET", where, "f", frozen))
        return bytes(kept)

    @asynccontextmanager
    async def unwritable(self, backend: Backend) -> AsyncIterator[None]:
        """Have the server want a replica that it does not have: it takes no writes."""
        assert isinstance(backend, RedisBackend)
        name = "min-replicas-to-write"
        await backend.link.talk("break", [("CONFIG", "SET", name, "1")])
        try:
            yield
        finally:
            await backend.link.talk("mend", [("CONFIG", "SET", name, "0")])


def under_test(argument: str) -> RedisUnderTest:
    return RedisUnderTest(argument)
