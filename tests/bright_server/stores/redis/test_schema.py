"""What a database says of itself, and who may open it."""

from __future__ import annotations

import asyncio
import ssl

import pytest
from redis.asyncio import SSLConnection

from bright_server.commit.schema_steps import SchemaState
from bright_server.commit.transfer import StoreFacts
from bright_server.errors import (
    ConfigurationError,
    CopyRefused,
    SchemaRefused,
    StoreMissing,
)
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis import schema
from bright_server.stores.redis.connection import linked
from bright_server.stores.redis.dump import dump
from bright_server.stores.redis.keys import STORE
from bright_server.stores.redis.pool import pool_of
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.stores.redis.transfer import importing
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import committed, send
from tests.bright_server.stores.sqlite.works import batch, observed, sequences


async def test_two_servers_that_start_at_once_make_one_database(
    settings: Settings, clock: ManualClock
) -> None:
    async def store_id() -> str:
        async with opened(settings, clock) as store:
            return store.observations.store_id

    ids = await asyncio.gather(*(store_id() for _ in range(8)))

    assert len(set(ids)) == 1
    assert await schema.schema_state(settings) == SchemaState(1, [])


async def test_a_database_keeps_its_shards_whatever_the_settings_say(
    settings: Settings, clock: ManualClock, store: RedisBackend, grant: Grant
) -> None:
    message = await committed(store)
    await store.observations.commit_group([batch(grant, observed(1))])

    other = settings.model_copy(update={"redis_shards": 3})
    async with opened(other, clock) as again:
        assert await again.commits.load_commit_for_request(send()) == message
        (outcome,) = await again.observations.commit_group([batch(grant, observed(1))])
        assert sequences(outcome) == [(2, True)]


async def test_a_database_of_a_newer_server_is_refused_and_left_alone(
    settings: Settings, clock: ManualClock, store: RedisBackend
) -> None:
    newer = ("HSET", STORE, "version", 9, "oldest", schema.SCHEMA_VERSION + 1)
    await store.link.run("step forward", newer)
    before = await store.link.run("", ("HGETALL", STORE))

    for attempt in (
        lambda: opened(settings, clock).__aenter__(),
        lambda: schema.schema_state(settings),
        lambda: schema.step_forward(settings, clock),
    ):
        with pytest.raises(SchemaRefused, match="upgrade Bright"):
            await attempt()
    assert await store.link.run("", ("HGETALL", STORE)) == before


async def test_a_database_that_a_newer_server_left_readable_is_opened(
    settings: Settings, clock: ManualClock, store: RedisBackend
) -> None:
    await store.link.run("step forward", ("HSET", STORE, "version", 9))

    async with opened(settings, clock) as again:
        assert again.observations.store_id == store.observations.store_id


async def test_a_key_of_another_program_is_not_taken_for_a_database(
    settings: Settings, clock: ManualClock
) -> None:
    async with linked(settings) as link:
        await link.run("", ("HSET", STORE, "something", "else"))

    with pytest.raises(SchemaRefused, match="another database number"):
        await opened(settings, clock).__aenter__()


@pytest.mark.parametrize("keys", [1, 3_000])
async def test_keys_of_another_program_are_not_taken_for_an_empty_database(
    settings: Settings, clock: ManualClock, keys: int
) -> None:
    """Neither for a new store, nor for a copy; nothing is written beside them."""
    facts = StoreFacts("another", 1)
    async with linked(settings) as link:
        theirs = [word for number in range(keys) for word in (f"theirs:{number}", "1")]
        await link.run("", ("MSET", *theirs), durable=False)

        with pytest.raises(SchemaRefused, match="keys of another program"):
            await opened(settings, clock).__aenter__()
        async with importing(settings, clock) as target:
            with pytest.raises(CopyRefused, match="choose another database"):
                await target.begin(facts, "copied")

        assert await link.run("", ("DBSIZE",), durable=False) == keys


async def test_a_store_stays_open_whoever_writes_beside_it(
    settings: Settings, clock: ManualClock, store: RedisBackend
) -> None:
    await store.link.run("", ("SET", "theirs", "1"))

    async with opened(settings, clock) as again:
        assert again.observations.store_id == store.observations.store_id


async def test_looking_makes_no_database(
    settings: Settings, clock: ManualClock
) -> None:
    for attempt in (
        lambda: schema.schema_state(settings),
        lambda: schema.step_forward(settings, clock),
        lambda: anext(dump(settings)),
    ):
        with pytest.raises(StoreMissing, match="redis://"):
            await attempt()


async def test_an_address_over_tls_proves_who_answers() -> None:
    settings = Settings.model_validate(
        {"database": "rediss://me@db.example:7000/3?sslrootcert=/ca.pem"}
    )
    connection = pool_of(settings).make_connection()  # type: ignore[no-untyped-call]

    assert isinstance(connection, SSLConnection)
    assert connection.check_hostname
    assert connection.cert_reqs is ssl.CERT_REQUIRED
    assert connection.ca_certs == "/ca.pem"
    assert (connection.host, connection.port, connection.db) == ("db.example", 7000, 3)
    assert connection.retry.get_retries() == 0


async def test_one_address_of_one_server_is_needed(clock: ManualClock) -> None:
    for address in ("redis://one,two/0", "memory:"):
        settings = Settings.model_validate({"database": address})
        with pytest.raises(ConfigurationError):
            await opened(settings, clock).__aenter__()
