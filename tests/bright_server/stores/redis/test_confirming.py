"""What is asked of the server beside each durable exchange, and what it finds out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ResponseError

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import Probe, ProbeStored
from bright_server.commit.records import CommitIntent
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis import connection
from bright_server.stores.redis.confirming import Confirming
from bright_server.stores.redis.conveyor import Command, Reply
from bright_server.stores.redis.keys import CONFIRMED
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.engines.valkey import Valkey
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
from tests.bright_server.stores.redis.test_durability import (
    UNSAFE,
    loosen,
    settings_of,
)
from tests.bright_server.stores.sqlite.works import KEY, batch, observed, sequences


async def _connected_anew(store: RedisBackend) -> None:
    """Use up the connections that a restarted server has closed."""
    for _ in range(16):
        try:
            await store.observations.read_probe()
        except StoreUnavailable:
            continue
        return
    pytest.fail("it is not found again")


@pytest.mark.parametrize("case", UNSAFE)
async def test_ms_27_nothing_is_acked_while_the_server_would_not_keep_it(
    case: str, own_server: Valkey, clock: ManualClock
) -> None:
    """MS-27: no group, no repeat, no step of a commit, no binding; all is found later.

    What readiness knows, whoever would be given an ACK must not find out by losing it.
    """
    unsafe, reason = UNSAFE[case]
    safe = {
        name: own_server.ask("CONFIG", "GET", name).split(b"\r\n")[-2].decode()
        for name in unsafe
    }
    async with opened(settings_of(own_server), clock, Everybody()) as store:
        issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
        grant = Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))
        works = [batch(grant, observed(1))]
        await store.observations.commit_group(works)
        first = await committed(store, 2)
        intent = await reserved(store, 3)
        await store.commits.put_record(intent)
        publication = await published(store, intent)
        loosen(own_server, unsafe)

        commits, observations = store.commits, store.observations
        for attempt in (
            lambda: observations.commit_group([batch(grant, observed(4))]),
            lambda: observations.commit_group(works),
            lambda: commits.reserve(send(5), DELIVERY, candidate(5)),
            lambda: commits.reserve(send(2), DELIVERY, candidate(2)),
            lambda: commits.put_record(intent),
            lambda: published(store, intent),
            lambda: commits.mark_outbox_published(intent, publication),
            lambda: commits.mark_published_and_committed(intent, publication),
            lambda: commits.mark_committed(intent),
            lambda: commits.load_commit(first.key, KEY),
            lambda: commits.load_commit_for_request(send(2)),
            lambda: issue_binding(store.bindings, [ACCOUNT], "", 1),
        ):
            with pytest.raises((StoreUnavailable, PublicationNotDurable), match=reason):
                await attempt()

        loosen(own_server, safe)
        own_server.wait_until(
            lambda: (
                b"aof_rewrite_in_progress:0" in own_server.ask("INFO", "persistence")
            )
        )
        await store.prove_writable()
        again = await commits.reserve(send(5), DELIVERY, candidate(99))
        (outcome,) = await observations.commit_group([batch(grant, observed(4))])
        assert sequences(outcome) == [(4, True)]
        assert isinstance(again, CommitIntent)
        assert again.coordinates.sequence == 5
        done = await commits.mark_published_and_committed(intent, publication)
        assert done.coordinates == intent.coordinates


async def test_ms_27_a_setting_that_changes_between_a_write_and_its_sync_is_seen(
    own_server: Valkey, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MS-27: in the very turn of the server's loop in which the write was done.

    The server answers after that turn has ended, so what it says of a sync, and then of
    its settings, is later than the change; settings that were asked for first are not.
    """
    exchange = connection._exchange
    changed = 0

    async def meddled(
        wire: AbstractConnection, commands: Sequence[Command]
    ) -> list[Reply]:
        nonlocal changed
        words = list(commands)
        kinds = [each[0] for each in words if isinstance(each, tuple)]
        if "WAITAOF" not in kinds:
            return await exchange(wire, words)
        # Between the last write and the wait for it, with nothing in between.
        changed = next(
            place
            for place, each in enumerate(words)
            if isinstance(each, tuple) and each[0] == "WAITAOF"
        )
        words.insert(changed, ("CONFIG", "SET", "appendfsync", "everysec"))
        replies = await exchange(wire, words)
        del replies[changed]
        return replies

    async with opened(settings_of(own_server), clock) as store:
        await store.observations.commit_group([Probe(1)])
        monkeypatch.setattr(connection, "_exchange", meddled)
        with pytest.raises(StoreUnavailable, match="everysec"):
            await store.observations.commit_group([Probe(2)])
        with pytest.raises(StoreUnavailable, match="everysec"):
            await reserved(store)
    assert changed


async def test_ms_27_nothing_is_acked_before_a_new_append_only_file_is_whole(
    own_server: Valkey, clock: ManualClock
) -> None:
    """MS-27: `appendonly` says yes at once, and a crash would lose all until then."""
    async with opened(settings_of(own_server), clock) as store:
        await store.prove_writable()
        own_server.ask("CONFIG", "SET", "appendonly", "no")
        # The child that writes it takes its time over each key.
        own_server.ask("CONFIG", "SET", "rdb-key-save-delay", "10000000")
        own_server.ask("CONFIG", "SET", "appendonly", "yes")

        with pytest.raises(StoreUnavailable, match="append-only file anew"):
            await store.observations.commit_group([Probe(1)])
        with pytest.raises(StoreUnavailable, match="append-only file anew"):
            await store.commits.readiness()

        own_server.ask("CONFIG", "SET", "rdb-key-save-delay", "0")
        own_server.ask("CONFIG", "SET", "appendonly", "no")
        own_server.ask("CONFIG", "SET", "appendonly", "yes")
        own_server.wait_until(
            lambda: (
                b"aof_rewrite_in_progress:0" in own_server.ask("INFO", "persistence")
            )
        )
        assert await store.observations.commit_group([Probe(2)]) == [ProbeStored()]


async def test_ms_27_a_server_that_comes_back_without_what_it_confirmed_is_refused(
    own_server: Valkey, clock: ManualClock, tmp_path: Path
) -> None:
    """MS-27: the same store, by its id, a little older: by a copy that was restored."""
    settings = settings_of(own_server)
    files, copy = own_server.folder, tmp_path / "copy"
    async with opened(settings, clock) as store, opened(settings, clock) as idle:
        await committed(store, 1)
        await idle.prove_writable()
        copytree(files, copy)
        await store.observations.commit_group([Probe(1)])
        own_server.kill()
        rmtree(files)
        copytree(copy, files)
        own_server.start()

        for each in (store, idle):
            await _connected_anew(each)
        with pytest.raises(StoreUnavailable, match="came back without"):
            await store.observations.commit_group([Probe(2)])
        assert await idle.observations.read_probe() == 0, "it was refused beforehand"
        # It does not forget, however often it is asked.
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="came back without"):
                await store.prove_writable()
            with pytest.raises(StoreUnavailable, match="came back without"):
                await store.commits.load_commit_for_request(send(1))
        # Whoever was confirmed nothing that is gone goes on.
        await idle.prove_writable()
    async with opened(settings, clock) as again:
        await again.prove_writable()


async def test_ms_27_a_single_commit_finds_out_too(
    own_server: Valkey, clock: ManualClock
) -> None:
    """MS-27: what is not a group has no look beforehand, and gets no ACK all the same.

    The last exchange alone is gone.
    """
    async with opened(settings_of(own_server), clock) as store:
        await committed(store, 1)
        for field in own_server.ask("HKEYS", CONFIRMED).split(b"\r\n")[2::2]:
            own_server.ask("HINCRBY", CONFIRMED, field.decode(), "-1")

        with pytest.raises(StoreUnavailable, match="came back without"):
            await store.commits.load_commit_for_request(send(1))


SETTINGS = [
    b"appendonly", b"yes", b"appendfsync", b"always", b"no-appendfsync-on-rewrite",
    b"no", b"maxmemory", b"0", b"maxmemory-policy", b"noeviction",
]  # fmt: skip
OLD = ResponseError("unknown command 'WAITAOF', with args beginning with: '1' '0'")


@pytest.mark.parametrize(
    ("replicas", "waits", "fault"),
    [
        (0, [OLD], None),
        (1, [1, OLD], None),
        (1, [0, OLD], "0 of 1 replicas"),
        (0, [ResponseError("ERR no")], "refused a command"),
        (0, [[0, 0]], "append-only file anew"),
    ],
)
def test_ms_27_a_server_of_an_older_kind_is_judged_by_its_settings(
    replicas: int, waits: list[Reply], fault: str | None
) -> None:
    """MS-27: before Redis 7.2, which cannot be run here, there is no WAITAOF."""
    confirming = Confirming(Settings(redis_replicas=replicas))
    assert len(confirming.words()) == len(waits) + 2

    said = confirming.fault([1, *waits, SETTINGS], 0)

    assert said is None if fault is None else fault in str(said)
    assert confirming.confirmed == (fault is None)
    loose = [b"no" if word == b"yes" else word for word in SETTINGS]
    assert "appendonly" in str(confirming.fault([2, *waits, loose], 0))
