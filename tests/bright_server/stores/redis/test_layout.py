"""Where things lie: one slot for each script, and little room for what is done."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from redis.asyncio.connection import AbstractConnection

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import (
    BuyerFacts,
    Discovery,
    ObservedProfiles,
    Probe,
    Progress,
    RenderedCards,
    Work,
)
from bright_server.commit.identity import full_identity
from bright_server.commit.records import (
    AuthenticatedSend,
    CommittedMessage,
    HistoryQuery,
    MessageContent,
)
from bright_server.errors import IdentityConflict
from bright_server.messages import (
    DiscoveredConversation,
    Grant,
    ObservedFacts,
    ObservedProfile,
    RenderedCard,
)
from bright_server.settings import Settings
from bright_server.stores.observed_commits import observed_key
from bright_server.stores.redis import connection
from bright_server.stores.redis.conveyor import Command, Reply
from bright_server.stores.redis.keys import CONFIRMED, STORE
from bright_server.stores.redis.scripts import SCRIPTS, Call, Script
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
from tests.bright_server.stores.sqlite.works import KEY, OTHER, batch, claim, observed

LARGEST_COMMITTED_BYTES = 552
Exchange: TypeAlias = Callable[
    [AbstractConnection, Sequence[Command]], Awaitable[list[Reply]]
]


async def everything(store: RedisBackend, clock: ManualClock) -> None:
    """Run every script at least once, most of them on what is there and on nothing."""
    issued = await issue_binding(store.bindings, [ACCOUNT], "", 1)
    grant = Grant(issued.binding.binding_id, 1, frozenset({ACCOUNT}))
    works: list[Work] = [
        batch(grant, observed(1), observed(1), observed(1, "other")),
        batch(grant, observed(1), key=OTHER),
        Discovery(grant, ACCOUNT, [DiscoveredConversation("c", 5, "title")]),
        Progress(grant, KEY, "1", False, 5, 1),
        ObservedProfiles(grant, ACCOUNT, [ObservedProfile("c", None, 1, "f", "{}")]),
        RenderedCards(grant, KEY, [RenderedCard("1", "k", "1")] * 2),
        BuyerFacts(grant, KEY, ObservedFacts(1, "f", "{}")),
        claim(grant, 1),
        Probe(1),
    ]
    for work in works * 2:
        # One by one, so that only its own keys are declared.
        await store.observations.commit_group([work])
    for number in (1, 2):
        message = await committed(store, number, expires_at_ms=1)
        assert await store.commits.load_commit(message.key, KEY) == message
    intent = await reserved(store, 3)
    await store.commits.put_record(intent)
    await store.commits.mark_outbox_published(intent, await published(store, intent))
    await store.commits.mark_committed(intent)
    seen = observed_key(KEY, observed(1).message_id)
    again = AuthenticatedSend(seen, KEY, MessageContent("x", "inbound", "text", "?"))
    with pytest.raises(IdentityConflict):
        await store.commits.reserve(again, DELIVERY, candidate())
    await store.commits.scan_recoverable_commits(clock.now_ms() + 1, 10)
    await store.commits.history_page(HistoryQuery("a", KEY, "newer", None, 9, 9_000))
    await store.commits.hold_lease("recovery", "me", 1_000)
    await store.bindings.revoke(grant.binding_id, clock.now_ms())


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every run of a script from here on."""
    seen: list[Call] = []
    exchange = connection._exchange

    async def noted(
        wire: AbstractConnection, commands: Sequence[Command]
    ) -> list[Reply]:
        seen.extend(each for each in commands if isinstance(each, Call))
        return await exchange(wire, commands)

    monkeypatch.setattr(connection, "_exchange", noted)
    return seen


async def test_ms_01_the_keys_of_every_script_lie_in_one_slot_of_a_cluster(
    settings: Settings,
    clock: ManualClock,
    calls: list[Call],
    tmp_path: Path,
) -> None:
    async with opened(settings, clock, Everybody()) as store:
        await everything(store, clock)

    used = {each.script.name for each in calls}
    assert used == set(SCRIPTS)
    with Valkey(tmp_path / "cluster", ValkeyOptions(cluster=True)) as cluster:
        for name in used:
            mine = [each.keys for each in calls if each.script.name == name]
            for keys in set(mine):
                slots = {cluster.ask("CLUSTER", "KEYSLOT", key) for key in keys}
                assert len(slots) == 1, (name, keys)


async def test_every_script_touches_its_declared_keys_alone(
    own_server: Valkey, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user who may touch nothing else: a server does not check it by itself."""
    own_server.ask("ACL", "SETUSER", "narrow", "on", ">pass", "+@all", "~*", "&*")
    settings = Settings.model_validate(
        {
            "database": f"redis://narrow@127.0.0.1:{own_server.port}/0",
            "database_password": "pass",
            "redis_shards": 8,
        }
    )
    restricted = _restricting(own_server, connection._exchange)
    monkeypatch.setattr(connection, "_exchange", restricted)
    async with opened(settings, clock, Everybody()) as store:
        await everything(store, clock)
        body = b"#!lua\nreturn redis.call('SET', 'bright:{1}:stray', '1')"
        stray = Script("stray", body, hashlib.sha1(body).hexdigest())  # noqa: S324
        with pytest.raises(AssertionError, match="permission"):
            await store.link.run("stray", Call(stray, ("bright:{1}:all",), ()))


def _restricting(server: Valkey, exchange: Exchange) -> Exchange:
    async def restricted(
        wire: AbstractConnection, commands: Sequence[Command]
    ) -> list[Reply]:
        allowed = [f"~{key}" for each in commands for key in _declared(each)]
        if not allowed:
            return await exchange(wire, commands)
        # Beside, it is read whose database it is, and the exchange is confirmed.
        allowed += [f"%R~{STORE}", f"~{CONFIRMED}"]
        server.ask("ACL", "SETUSER", "narrow", "resetkeys", *allowed)
        try:
            replies = await exchange(wire, commands)
        finally:
            server.ask("ACL", "SETUSER", "narrow", "~*")
        for reply in replies:
            for each in reply if isinstance(reply, list) else [reply]:
                assert "permission" not in str(each).lower(), each
        return replies

    return restricted


def _declared(command: Command) -> tuple[str, ...]:
    if isinstance(command, Call):
        return command.keys
    if command[0] == "EVAL":
        return tuple(map(str, command[3 : 3 + int(command[2])]))
    return ()


async def test_ms_13_a_committed_message_takes_little_room_and_stays_a_listpack(
    store: RedisBackend,
) -> None:
    """MS-13: its hash, and the claim of its key in the sender's shard with it."""
    message = await committed(store)
    keys, name = store.layout.commit(message.key, KEY)
    shard, claimed = store.layout.claim(message.key)
    both = (keys.shard.commit(name), shard.claim(claimed))
    sizes = [await store.link.run("", ("MEMORY", "USAGE", key)) for key in both]
    encodings = {await store.link.run("", ("OBJECT", "ENCODING", key)) for key in both}

    assert sum(sizes) <= LARGEST_COMMITTED_BYTES, sizes
    assert encodings == {b"listpack"}


async def test_ms_23_a_commit_leaves_nothing_under_way(store: RedisBackend) -> None:
    """MS-13, MS-23: of what recovery would read, and where readers would stop."""
    message = await committed(store)
    keys, _ = store.layout.commit(message.key, KEY)
    shard, _ = store.layout.claim(message.key)
    left = [keys.shard.due, keys.open, shard.claims]

    assert [await store.link.run("", ("ZCARD", key)) for key in left] == [0, 0, 0]


async def test_ms_13_a_full_hash_of_an_older_server_is_still_read(
    store: RedisBackend,
) -> None:
    """MS-13: with a `QIMC` identity, compared byte by byte, and the record in it."""
    intent = await reserved(store)
    await store.commits.put_record(intent)
    keys, name = store.layout.commit(intent.key, KEY)
    commit = keys.shard.commit(name)
    full = full_identity(send())
    await store.link.talk(
        "write as it once was",
        [
            ("HSET", commit, "s", "4", "d", full, "p", keys.shard.partition, "o", "7"),
            ("ZREM", keys.shard.due, name),
        ],
    )
    old = await store.link.run("", ("HGETALL", commit))

    found = await store.commits.reserve(send(), DELIVERY, candidate(99))

    assert isinstance(found, CommittedMessage)
    assert found.coordinates == intent.coordinates
    assert found.publication.position.offset == 7
    assert await store.commits.load_commit(intent.key, KEY) == found
    assert await store.commits.load_commit_for_request(send()) == found
    with pytest.raises(IdentityConflict):
        await store.commits.load_commit_for_request(send(text="other"))
    assert await store.commits.mark_committed(intent) == found
    assert await store.link.run("", ("HGETALL", commit)) == old
