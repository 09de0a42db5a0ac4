"""A server that comes back without its data, or another one at its address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from shutil import rmtree

import pytest

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import Probe, Work
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.messages import Grant
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.engines.valkey import Valkey
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import (
    DELIVERY,
    candidate,
    committed,
    published,
    reserved,
    send,
)
from tests.bright_server.stores.redis.test_durability import settings_of
from tests.bright_server.stores.sqlite.works import batch, observed

WORDS = "not the one that was opened"


async def grant_in(store: RedisBackend) -> Grant:
    issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
    return Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))


async def assert_refused(doing: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises((StoreUnavailable, PublicationNotDurable), match=WORDS):
        await doing()


async def test_ms_27_nothing_is_acked_by_a_server_that_has_lost_its_data(
    tmp_path: Path, clock: ManualClock
) -> None:
    """MS-27, MS-20: its conversations would be numbered anew, under the old name."""
    with Valkey(tmp_path / "valkey") as server:
        async with opened(settings_of(server), clock) as store:
            grant = await grant_in(store)
            await committed(store)
            intent = await reserved(store, 2)
            await store.commits.put_record(intent)
            publication = await published(store, intent)
            server.kill()
            rmtree(server.folder)
            server.start()
            # Bindings that are restored are no proof that the rest is.
            with pytest.raises(StoreUnavailable):
                await store.bindings.all()
            works: list[Work] = [batch(grant, observed(1)), Probe(7)]
            commits = store.commits

            await assert_refused(lambda: store.observations.commit_group(works))
            await assert_refused(lambda: commits.reserve(send(), DELIVERY, candidate()))
            await assert_refused(lambda: commits.put_record(intent))
            await assert_refused(lambda: store.publisher.publish(envelope_of(intent)))
            await assert_refused(
                lambda: commits.mark_published_and_committed(intent, publication)
            )
            await assert_refused(store.prove_writable)
        async with opened(settings_of(server), clock) as another:
            assert await another.observations.read_probe() == 0
            assert await another.bindings.all() == []


async def test_ms_15_readiness_refuses_another_database_under_the_address(
    own_server: Valkey, clock: ManualClock
) -> None:
    """MS-15: of which somebody else's server says that it is well."""
    settings = settings_of(own_server)
    async with opened(settings, clock) as store:
        await store.prove_writable()
        own_server.empty(0)
        async with opened(settings, clock) as another:
            grant = await grant_in(another)
            await another.prove_writable()

            await assert_refused(store.prove_writable)
            group = [batch(grant, observed(1))]
            await assert_refused(lambda: store.observations.commit_group(group))
            (outcome,) = await another.observations.commit_group(group)

    # It was refused before it wrote.
    assert list(outcome.sequences) == [1]  # type: ignore[union-attr]
    assert not outcome.repeats  # type: ignore[union-attr]
