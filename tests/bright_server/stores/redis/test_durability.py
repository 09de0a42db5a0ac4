"""An ACK only from a server that keeps it: what readiness refuses, and replicas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import Probe, ProbeStored
from bright_server.commit.records import CommitIntent
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import (
    DELIVERY,
    Everybody,
    candidate,
    committed,
    published,
    reserved,
    send,
)
from tests.bright_server.stores.sqlite.works import KEY, batch, observed, sequences


def settings_of(server: Valkey, **changes: object) -> Settings:
    given: dict[str, object] = {"database": server.url, "redis_shards": 4}
    return Settings.model_validate(given | changes)


UNSAFE = {
    "no append-only file": ({"appendonly": "no"}, "set `appendonly yes`"),
    "synced once a second": ({"appendfsync": "everysec"}, "it is everysec"),
    "never synced": ({"appendfsync": "no"}, "it is no"),
    "not synced while rewriting": (
        {"no-appendfsync-on-rewrite": "yes"},
        "no-appendfsync-on-rewrite no",
    ),
    "evicting": (
        {"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"},
        r"\(allkeys-lru\)",
    ),
    "evicting what expires": (
        {"maxmemory": "100mb", "maxmemory-policy": "volatile-ttl"},
        r"\(volatile-ttl\)",
    ),
}


def loosen(server: Valkey, settings: Mapping[str, str]) -> None:
    for setting in settings.items():
        server.ask("CONFIG", "SET", *setting)


@pytest.mark.parametrize("case", UNSAFE)
async def test_ms_15_readiness_refuses_a_server_that_would_not_keep_an_ack(
    case: str, own_server: Valkey, clock: ManualClock
) -> None:
    """MS-15: by each door."""
    settings, reason = UNSAFE[case]
    async with opened(settings_of(own_server), clock) as store:
        loosen(own_server, settings)
        with pytest.raises(StoreUnavailable, match=reason):
            await store.prove_writable()
        with pytest.raises(StoreUnavailable, match=reason):
            await store.commits.readiness()
        with pytest.raises(PublicationNotDurable, match=reason):
            await store.publisher.readiness()
        with pytest.raises(StoreUnavailable, match=reason):
            await store.observations.commit_group([Probe(1)])


@pytest.mark.parametrize("case", UNSAFE)
async def test_a_server_that_would_not_keep_a_store_gets_none(
    case: str, own_server: Valkey, clock: ManualClock
) -> None:
    settings, reason = UNSAFE[case]
    loosen(own_server, settings)

    with pytest.raises(StoreUnavailable, match=reason):
        async with opened(settings_of(own_server), clock):
            pytest.fail("it was made")


async def test_ms_15_readiness_follows_what_the_server_is_set_to_now(
    own_server: Valkey, clock: ManualClock
) -> None:
    async with opened(settings_of(own_server), clock) as store:
        await store.prove_writable()
        own_server.ask("CONFIG", "SET", "appendfsync", "everysec")
        with pytest.raises(StoreUnavailable):
            await store.commits.readiness()
        own_server.ask("CONFIG", "SET", "appendfsync", "always")
        await store.commits.readiness()
        # Memory that is not limited is not evicted from, whatever the policy.
        own_server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        await store.commits.readiness()
        own_server.ask("CONFIG", "SET", "maxmemory", "500mb")
        with pytest.raises(StoreUnavailable, match="throw messages away"):
            await store.commits.readiness()


async def test_ms_15_readiness_really_writes(
    own_server: Valkey, clock: ManualClock
) -> None:
    """MS-15: a full memory takes no writes, and reading alone would not find out."""
    async with opened(settings_of(own_server), clock) as store:
        await store.prove_writable()
        own_server.ask("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(StoreUnavailable, match="memory is full"):
            await store.commits.readiness()
        own_server.ask("CONFIG", "SET", "maxmemory", "0")
        await store.commits.readiness()
        own_server.kill()
        with pytest.raises(StoreUnavailable):
            await store.commits.readiness()
        own_server.start()
        await store.commits.readiness()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Valkey, Valkey]]:
    """A primary and its replica, both of which sync before they answer."""
    with ExitStack() as stack:
        primary = stack.enter_context(Valkey(tmp_path / "primary"))
        options = ValkeyOptions(replica_of=primary.port)
        replica = stack.enter_context(Valkey(tmp_path / "replica", options))
        replica.wait_until_replicating()
        yield primary, replica


async def test_a_read_only_replica_takes_nothing_and_says_what_to_do(
    pair: tuple[Valkey, Valkey], clock: ManualClock, tmp_path: Path
) -> None:
    primary, replica = pair
    async with opened(settings_of(primary), clock):
        pass
    primary.ask("WAIT", "1", "5000")

    # It may be read.
    async with opened(settings_of(replica), clock) as store:
        for attempt in (store.prove_writable, lambda: reserved(store)):
            with pytest.raises(StoreUnavailable, match="replica"):
                await attempt()
        assert "replica" in await _group_fails(store)

    # One that becomes a replica while it serves.
    async with opened(settings_of(primary), clock) as store:
        primary.ask("REPLICAOF", "127.0.0.1", str(replica.port))
        for attempt in (store.prove_writable, lambda: reserved(store)):
            with pytest.raises(StoreUnavailable, match="replica"):
                await attempt()
        (tried,) = [await _group_fails(store)]
        assert "replica" in tried


async def _group_fails(store: RedisBackend) -> str:
    try:
        (outcome,) = await store.observations.commit_group([Probe(1)])
    except StoreUnavailable as error:
        return str(error)
    return str(outcome)


async def test_ms_27_without_its_replica_nothing_is_acked_and_all_is_found_later(
    pair: tuple[Valkey, Valkey], clock: ManualClock
) -> None:
    """MS-27: a wait in vain is an unknown outcome; read again, go forward."""
    primary, replica = pair
    settings = settings_of(primary, redis_replicas=1, redis_wait_ms=200)
    async with opened(settings, clock, Everybody()) as store:
        first = await committed(store, 1)
        intent = await reserved(store, 2)
        replica.freeze()

        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.commits.reserve(send(3), DELIVERY, candidate(3))
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.commits.put_record(intent)
        with pytest.raises(PublicationNotDurable, match="0 of 1 replicas"):
            await published(store, intent)
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.observations.commit_group([Probe(1)])
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.prove_writable()

        replica.thaw()
        replica.wait_until_replicating()
        again = await store.commits.reserve(send(3), DELIVERY, candidate(99))
        assert isinstance(again, CommitIntent)
        assert again.coordinates.sequence == 3, "it was reserved, once"
        assert (await committed(store, 3)).coordinates == again.coordinates
        await store.commits.put_record(intent)
        publication = await published(store, intent)
        last = await store.commits.mark_published_and_committed(intent, publication)
        assert (first.coordinates.sequence, last.coordinates.sequence) == (1, 2)


async def test_ms_27_a_repeat_is_no_ack_either_while_the_replica_lacks_the_first(
    pair: tuple[Valkey, Valkey], clock: ManualClock
) -> None:
    """MS-27: what another connection wrote and nobody has confirmed is read at once.

    A connection that wrote nothing itself would not be made to wait by the server.
    """
    primary, replica = pair
    waiting = settings_of(primary, redis_replicas=1, redis_wait_ms=200)
    async with (
        opened(settings_of(primary), clock) as careless,
        opened(waiting, clock) as store,
    ):
        issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
        grant = Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))
        works = [batch(grant, observed(1))]
        replica.freeze()
        message = await committed(careless, 2)
        await careless.observations.commit_group(works)

        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.commits.load_commit_for_request(send(2))
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.commits.load_commit(message.key, KEY)
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.commits.reserve(send(2), DELIVERY, candidate(2))
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.observations.commit_group(works)

        replica.thaw()
        replica.wait_until_replicating()
        (outcome,) = await store.observations.commit_group(works)
        assert sequences(outcome) == [(2, True)]
        assert await store.commits.load_commit_for_request(send(2)) == message


async def test_ms_27_what_was_acked_is_on_the_replica_when_the_primary_dies(
    pair: tuple[Valkey, Valkey], clock: ManualClock
) -> None:
    primary, replica = pair
    settings = settings_of(primary, redis_replicas=1)
    async with opened(settings, clock) as store:
        acked = [await committed(store, number) for number in range(20)]
        probe = await store.observations.commit_group([Probe(7)])
        assert probe == [ProbeStored()]
        primary.kill()
    replica.ask("REPLICAOF", "NO", "ONE")

    async with opened(settings_of(replica), clock) as store:
        await store.prove_writable()
        for number, message in enumerate(acked):
            found = await store.commits.load_commit_for_request(send(number))
            assert found == message
        assert await store.observations.read_probe() == 7


async def test_a_replica_that_syncs_later_does_not_count(
    own_server: Valkey, tmp_path: Path, clock: ManualClock
) -> None:
    """It has the write and would lose it with the power: that is not on disk."""
    options = ValkeyOptions(fsync=None, replica_of=own_server.port)
    settings = settings_of(own_server, redis_replicas=1, redis_wait_ms=200)
    with Valkey(tmp_path / "replica", options) as replica:
        replica.wait_until_replicating()
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            async with opened(settings, clock) as store:
                await reserved(store)
