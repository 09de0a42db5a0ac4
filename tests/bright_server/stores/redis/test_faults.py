"""What goes wrong between Bright and a server: nothing is ACKed that is not kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import BatchCommitted, Probe, ProbeStored, Work
from bright_server.commit.records import CommitIntent
from bright_server.errors import (
    ConfigurationError,
    MessageStoreError,
    PublicationNotDurable,
    StoreUnavailable,
)
from bright_server.messages import ConversationKey, Grant
from bright_server.settings import Settings
from bright_server.stores.redis.answers import unavailable
from bright_server.stores.redis.dump import dump
from bright_server.stores.redis.scripts import SCRIPTS
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions
from tests.bright_server.faults.proxy import Proxy, between
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
from tests.bright_server.stores.redis.test_durability import settings_of
from tests.bright_server.stores.sqlite.works import (
    KEY,
    OTHER,
    batch,
    observed,
    sequences,
)


@asynccontextmanager
async def proxied(
    server: Valkey, clock: ManualClock
) -> AsyncIterator[tuple[Proxy, RedisBackend]]:
    async with between(lambda: server.port) as proxy:
        settings = settings_of(
            server,
            database=f"redis://127.0.0.1:{proxy.port}/0",
            redis_timeout_seconds=1,
            redis_wait_ms=1,
        )
        async with opened(settings, clock, Everybody()) as store:
            yield proxy, store


async def grant_in(store: RedisBackend) -> Grant:
    issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
    return Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))


async def one_commit(
    store: RedisBackend, conversation: ConversationKey = KEY, number: int = 1
) -> None:
    """Go on with one and the same message, whatever became of it before."""
    intent = await store.commits.reserve(
        send(number, conversation=conversation), DELIVERY, candidate(number)
    )
    if isinstance(intent, CommitIntent):
        await store.commits.put_record(intent)
        publication = await published(store, intent)
        await store.commits.mark_published_and_committed(intent, publication)


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("step", ["claim", "reserve", "record", "append", "advance"])
async def test_ms_25_an_answer_that_is_lost_is_an_unknown_outcome_and_converges(
    own_server: Valkey, clock: ManualClock, step: str, arrives: bool
) -> None:
    """MS-25, MS-20: nothing is repeated by the driver; the same key goes on."""
    async with proxied(own_server, clock) as (proxy, store):
        # So that the server knows every script by its name.
        await one_commit(store, OTHER, number=9)
        proxy.break_once(SCRIPTS[step].sha.encode(), arrives=arrives)

        with pytest.raises((StoreUnavailable, PublicationNotDurable)):
            await one_commit(store)
        assert proxy.struck.is_set()
        await one_commit(store)

        found = await store.commits.load_commit_for_request(send())
        assert found is not None
        assert found.coordinates.sequence == 1
        assert found.coordinates.message_id == candidate().message_id
        assert (await committed(store, 2)).coordinates.sequence == 2
    kinds = [each["type"] async for each in dump(settings_of(own_server))]
    assert kinds.count("outbox") == 3
    assert kinds.count("message") == 3


@pytest.mark.parametrize("mark", ["WATCH", "MULTI", "EXEC"])
@pytest.mark.parametrize("arrives", [True, False])
async def test_ms_23_a_group_whose_answer_is_lost_is_there_whole_or_not_at_all(
    own_server: Valkey, clock: ManualClock, arrives: bool, mark: str
) -> None:
    async with proxied(own_server, clock) as (proxy, store):
        grant = await grant_in(store)
        works: list[Work] = [batch(grant, observed(1), observed(2)), Probe(5)]
        proxy.break_once(mark.encode(), arrives=arrives)

        with pytest.raises(StoreUnavailable):
            await store.observations.commit_group(works)
        stored = await store.observations.read_probe() == 5
        first, probe = await store.observations.commit_group(works)

        assert probe == ProbeStored()
        assert sequences(first) == [(1, stored), (2, stored)]
        assert stored is (arrives and mark != "WATCH")


async def test_a_server_that_is_killed_is_found_again_and_has_every_ack(
    own_server: Valkey, clock: ManualClock
) -> None:
    async with opened(settings_of(own_server), clock) as store:
        grant = await grant_in(store)
        first = await committed(store, 1)
        half = await reserved(store, 2)
        await store.observations.commit_group([batch(grant, observed(1))])
        own_server.kill()
        for attempt in (
            lambda: store.commits.load_commit_for_request(send(1)),
            lambda: store.observations.commit_group([batch(grant, observed(2))]),
            store.bindings.all,
        ):
            with pytest.raises(StoreUnavailable):
                await attempt()
        own_server.start()

        # Its scripts are unknown to it now.
        (outcome,) = await store.observations.commit_group(
            [batch(grant, observed(1), observed(2))]
        )
        assert sequences(outcome) == [(3, True), (4, False)]
        assert await store.commits.load_commit_for_request(send(1)) == first
        due = await store.commits.scan_recoverable_commits(clock.now_ms(), 10)
        assert due == [half]


async def test_scripts_that_are_forgotten_are_sent_again(
    store: RedisBackend, grant: Grant, valkey: Valkey
) -> None:
    await committed(store, 1)
    valkey.ask("SCRIPT", "FLUSH")
    assert (await committed(store, 2)).coordinates.sequence == 2
    valkey.ask("SCRIPT", "FLUSH")
    (outcome,) = await store.observations.commit_group([batch(grant, observed(1))])
    assert sequences(outcome) == [(3, False)]


async def test_a_server_that_stands_still_is_given_up_in_time(
    own_server: Valkey, clock: ManualClock
) -> None:
    settings = settings_of(own_server, redis_timeout_seconds=0.2, redis_wait_ms=1)
    async with opened(settings, clock) as store:
        own_server.freeze()
        with pytest.raises(StoreUnavailable):
            await store.commits.readiness()
        with pytest.raises(StoreUnavailable):
            await reserved(store)
        own_server.thaw()
        assert (await reserved(store)).coordinates.sequence == 1


async def test_a_full_memory_takes_nothing_and_leaves_nothing_half_done(
    own_server: Valkey, clock: ManualClock
) -> None:
    async with opened(settings_of(own_server), clock) as store:
        grant = await grant_in(store)
        intent = await reserved(store, 1)
        own_server.ask("CONFIG", "SET", "maxmemory", "1")
        before = own_server.ask("DBSIZE")

        for attempt in (
            lambda: store.commits.reserve(send(2), DELIVERY, candidate(2)),
            lambda: store.commits.put_record(intent),
            lambda: store.observations.commit_group([batch(grant, observed(1))]),
        ):
            with pytest.raises(StoreUnavailable, match="memory is full"):
                await attempt()

        assert own_server.ask("DBSIZE") == before
        own_server.ask("CONFIG", "SET", "maxmemory", "0")
        (stored,) = await store.observations.commit_group([batch(grant, observed(1))])
        assert sequences(stored) == [(2, False)]


async def test_a_server_that_is_busy_says_so(
    own_server: Valkey, clock: ManualClock
) -> None:
    own_server.ask("CONFIG", "SET", "busy-reply-threshold", "10")
    settings = settings_of(own_server)
    async with opened(settings, clock) as store, opened(settings, clock) as other:
        endless = asyncio.create_task(
            other.link.run("wait", ("EVAL", "while true do end", 0))
        )
        with pytest.raises(StoreUnavailable, match="busy with a script"):
            await _ask_until_refused(store)
        own_server.ask("SCRIPT", "KILL")
        with pytest.raises(StoreUnavailable):
            await endless
        assert await store.observations.read_probe() == 0


async def _ask_until_refused(store: RedisBackend) -> None:
    while True:
        await store.observations.read_probe()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("LOADING Valkey is loading", "loading its data"),
        ("CLUSTERDOWN Hash slot not served", "cluster is down"),
        ("MISCONF Errors writing to the AOF file", "cannot write to its disk"),
        ("NOREPLICAS Not enough good replicas", "too few replicas"),
        ("MASTERDOWN Link with MASTER is down", "lost its primary"),
        ("MOVED 1 127.0.0.1:1", "cluster's node"),
        ("WRONGTYPE Operation against a key", "refused a command"),
        ("ERR Error running script @user_script:3", "refused a command"),
    ],
)
def test_ms_30_no_error_of_the_server_shows_through(reply: str, reason: str) -> None:
    """MS-30: those that cannot be brought about here; the others are, above."""
    error = unavailable("commit", ResponseError(reply))

    assert reason in str(error)
    assert "user_script" not in str(error)
    assert "WRONGTYPE" not in str(error)


async def test_connections_that_are_all_busy_are_no_silent_server(
    own_server: Valkey, clock: ManualClock
) -> None:
    """It says which setting bounds them."""
    settings = settings_of(
        own_server, redis_connections=1, redis_timeout_seconds=0.2, redis_wait_ms=5_000
    )
    async with opened(settings, clock) as store:
        grant = await grant_in(store)
        own_server.ask("CLIENT", "PAUSE", "1000", "ALL")
        group = asyncio.create_task(store.observations.commit_group([Probe(1)]))
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="BRIGHT_REDIS_CONNECTIONS"):
            await store.observations.commit_group([batch(grant, observed(1))])
        assert await group == [ProbeStored()]


async def test_a_password_is_read_from_its_file_and_in_no_error(
    tmp_path: Path, clock: ManualClock
) -> None:
    secret = "correct-horse"
    file = tmp_path / "password"
    with Valkey(tmp_path / "valkey", ValkeyOptions(password=secret)) as server:
        without = settings_of(server)
        settings = settings_of(server, database_password_file=file)
        file.write_text("wrong-donkey")
        for each, kind in ((without, MessageStoreError), (settings, StoreUnavailable)):
            with pytest.raises(kind) as refused:
                async with opened(each, clock):
                    pytest.fail("it was let in")
            assert "wrong-donkey" not in repr(refused.value)
            assert "password" in str(refused.value)
        # Read anew for each connection: it may be changed under a running server.
        file.write_text(secret + "\n")
        async with opened(settings, clock) as store:
            await store.prove_writable()
        file.write_text("\n")
        with pytest.raises(ConfigurationError, match="BRIGHT_DATABASE_PASSWORD_FILE"):
            async with opened(settings, clock):
                pytest.fail("it was let in")


async def test_ms_10_two_servers_of_one_database_split_no_sequence(
    settings: Settings, clock: ManualClock, grant: Grant
) -> None:
    """Both doors, two openings, one conversation: no gap, no repeat, no double."""
    async with opened(settings, clock) as one, opened(settings, clock) as two:

        async def groups(store: RedisBackend, numbers: range) -> list[int]:
            given: list[int] = []
            for number in numbers:
                works = [batch(grant, observed(number), observed(number + 1))]
                (outcome,) = await store.observations.commit_group(works)
                assert isinstance(outcome, BatchCommitted)
                given += outcome.sequences
            return given

        async def sends(store: RedisBackend, numbers: range) -> list[int]:
            done = [await committed(store, number) for number in numbers]
            return [each.coordinates.sequence for each in done]

        jobs: list[Callable[[], Awaitable[list[int]]]] = [
            lambda: groups(one, range(40)),
            lambda: groups(two, range(10, 50)),
            lambda: sends(one, range(20)),
            lambda: sends(two, range(20, 40)),
        ]
        given = await asyncio.gather(*(job() for job in jobs))
    records = [each async for each in dump(settings)]

    def all_of(kind: str, field: str) -> list[object]:
        found = [each[field] for each in records if each["type"] == kind]
        return sorted(found, key=lambda each: int(str(each)))

    assert all_of("message", "sequence") == list(range(1, 92))
    assert set().union(*given) == set(range(1, 92))
    assert set(given[2]).isdisjoint(given[3])
    assert all_of("outbox", "position") == list(range(1, 92))
    assert all_of("message", "position") == list(range(1, 92))
