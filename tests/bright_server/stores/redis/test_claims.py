"""A key is claimed in one shard, its place reserved in another: what lies between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bright_server.commit.encoding import encode_frozen, record_of
from bright_server.commit.groups import ClaimProven, ClaimUnproven
from bright_server.commit.identity import identity_digest
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitState,
    CommittedMessage,
    HistoryQuery,
    ReserveCandidate,
)
from bright_server.errors import IdentityConflict, StoreUnavailable
from bright_server.messages import ConversationKey, Grant
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.stores.redis.scripts import call
from bright_server.stores.redis.store import RedisBackend, opened
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import (
    BORN_MS,
    DELIVERY,
    Everybody,
    candidate,
    committed,
    published,
    reserved,
    send,
)
from tests.bright_server.stores.sqlite.works import (
    KEY,
    OTHER,
    batch,
    claim,
    observed,
    sequences,
)


async def claim_alone(
    store: RedisBackend, request: AuthenticatedSend, number: int = 1
) -> None:
    """Do the first of the two steps, as a server that was killed after it."""
    frozen = encode_frozen(request.key, record_of(request, candidate(number)), DELIVERY)
    await store.commits._claims.take(
        request, identity_digest(request), frozen, BORN_MS + number
    )


async def claims_left(store: RedisBackend) -> int:
    sizes = await store.link.talk(
        "count", [("ZCARD", shard.claims) for shard in store.layout.every_shard()]
    )
    return sum(sizes)


async def test_ms_21_recovery_finds_a_claim_that_was_left_alone(
    store: RedisBackend, clock: ManualClock
) -> None:
    """MS-21: with everything frozen in it, and gives it its place, once."""
    await claim_alone(store, send())

    assert await store.commits.scan_recoverable_commits(BORN_MS + 1, 9) == []
    (intent,) = await store.commits.scan_recoverable_commits(clock.now_ms(), 9)

    assert intent.state is CommitState.RESERVED
    assert intent.coordinates.sequence == 1
    assert intent.record == record_of(send(), candidate())
    assert intent.delivery == DELIVERY
    assert await store.commits.scan_recoverable_commits(clock.now_ms(), 9) == [intent]
    assert await claims_left(store) == 0


@pytest.mark.parametrize("way", ["again", "by key", "by request"])
async def test_ms_11_whoever_meets_a_claim_goes_on_from_what_it_froze(
    store: RedisBackend, way: str
) -> None:
    await claim_alone(store, send())
    key = send().key

    assert await store.commits.conversation_of(key) == KEY
    match way:
        case "again":
            found = await store.commits.reserve(
                send(), replace(DELIVERY, recipient="somebody else"), candidate(99)
            )
        case "by key":
            loaded = await store.commits.load_commit(key, KEY)
            assert loaded is not None
            found = loaded
        case _:
            loaded = await store.commits.load_commit_for_request(send())
            assert loaded is not None
            found = loaded

    assert isinstance(found, CommitIntent)
    assert (found.record.message_id, found.delivery) == (
        candidate().message_id,
        DELIVERY,
    )
    assert await store.commits.load_commit(key, OTHER) is None


async def test_ms_12_a_claim_alone_refuses_another_request_of_its_key(
    store: RedisBackend,
) -> None:
    await claim_alone(store, send())
    elsewhere = send(conversation=OTHER)

    for other in (send(text="other"), elsewhere, replace(send(), device="another")):
        with pytest.raises(IdentityConflict):
            await store.commits.reserve(other, DELIVERY, candidate())
        with pytest.raises(IdentityConflict):
            await store.commits.load_commit_for_request(other)
    assert (await reserved(store)).coordinates.sequence == 1


async def test_ot_01_a_claim_that_a_group_was_faster_than_is_dropped(
    store: RedisBackend, grant: Grant, clock: ManualClock
) -> None:
    """OT-01: the group's message is the one; what the claim said is not lost on it."""
    same, other = (request_of(KEY, observed(number)) for number in (1, 2))
    await claim_alone(store, same)
    await claim_alone(store, replace(other, content=same.content), 2)
    works = [batch(grant, observed(1), observed(2))]
    (outcome,) = await store.observations.commit_group(works)
    assert sequences(outcome) == [(1, False), (2, False)]

    assert await store.commits.scan_recoverable_commits(clock.now_ms(), 9) == []

    assert await claims_left(store) == 0
    found = await store.commits.load_commit_for_request(same)
    assert found is not None
    assert found.coordinates.sequence == 1
    with pytest.raises(IdentityConflict):
        await store.commits.load_commit_for_request(
            replace(other, content=same.content)
        )


async def test_ms_12_a_group_that_overtook_a_claim_is_what_a_request_is_compared_with(
    store: RedisBackend, grant: Grant
) -> None:
    """MS-12: what nobody has committed makes no conflict with what is committed."""
    claimed, said = (request_of(KEY, observed(1, text)) for text in ("this", "that"))
    await claim_alone(store, claimed)
    await store.observations.commit_group([batch(grant, observed(1, "that"))])

    found = await store.commits.reserve(said, DELIVERY, candidate())

    assert isinstance(found, CommittedMessage)
    assert found.coordinates.sequence == 1
    assert await claims_left(store) == 0
    with pytest.raises(IdentityConflict):
        await store.commits.reserve(claimed, DELIVERY, candidate())


async def test_a_claimed_key_whose_place_is_gone_is_no_new_message(
    store: RedisBackend,
) -> None:
    """A server that has lost writes is said so, and gets no second sequence number."""
    message = await committed(store)
    keys, name = store.layout.commit(message.key, KEY)
    await store.link.run("lose", ("DEL", keys.shard.commit(name)))

    with pytest.raises(StoreUnavailable, match="lost writes"):
        await store.commits.reserve(send(), DELIVERY, candidate())


async def test_what_cannot_be_read_hides_nothing_from_recovery(
    store: RedisBackend, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    intents = [await reserved(store, number) for number in range(1, 7)]
    broken = intents[:4]
    for intent, change in zip(
        broken, [("f", "{}"), ("s", "9"), ("q", "?"), ("d", "")], strict=True
    ):
        keys, name = store.layout.commit(intent.key, KEY)
        await store.link.run("break", ("HSET", keys.shard.commit(name), *change))
        if change[0] == "d":
            await store.link.run("break", ("HDEL", keys.shard.commit(name), "d"))

    found = await store.commits.scan_recoverable_commits(clock.now_ms(), 2)

    assert found == intents[4:]
    assert "cannot be read" in caplog.text


async def test_claims_that_cannot_be_read_keep_no_other_from_its_place(
    store: RedisBackend, clock: ManualClock
) -> None:
    for number in range(1, 6):
        shard, name = store.layout.claim(send(number).key)
        spoilt = ("QIMD", "a", "c", "{}", number, name, "sent", "t", "u", "i")
        keys = (shard.claim(name), shard.claims)
        await store.link.run("break", call("claim", keys, spoilt))
    await claim_alone(store, send(6), 6)

    (found,) = await store.commits.scan_recoverable_commits(clock.now_ms(), 2)

    assert found.key == send(6).key
    assert await claims_left(store) == 5


async def test_ms_23_history_lets_go_of_what_expires_and_the_ack_stays(
    settings: Settings, clock: ManualClock
) -> None:
    """MS-23: in bounds, by recovery's scan or by the next reader; the commit stays."""
    now_ms = clock.now_ms()
    query = HistoryQuery("actor", KEY, "newer", None, 100, 100_000)
    async with opened(settings, clock, Everybody()) as store:
        for number in range(1, 6):
            await committed(store, number, expires_at_ms=now_ms + number)
        last = await committed(store, 6)
        clock.advance(0.002)
        await store.commits.scan_recoverable_commits(0, 1)
        left = await store.link.run("", ("ZRANGE", _history(store), 0, -1))
        assert len(left) == 5, "as many of a shard as recovery takes at once"
        clock.advance(0.003)
        page = await store.commits.history_page(query)

        assert [each.sequence for each in page.items] == [6]
        assert (page.lowest, page.highest) == (6, 6)
        assert await store.commits.load_commit_for_request(send(1)) is not None
        assert await store.commits.load_commit_for_request(send(6)) == last


def _history(store: RedisBackend, key: ConversationKey = KEY) -> str:
    return store.layout.conversation(key).history


@pytest.mark.parametrize("field", ["sent", "created", "expires"])
async def test_ms_30_a_number_that_cannot_be_kept_is_refused_before_anything(
    store: RedisBackend, field: str
) -> None:
    request, given = send(), candidate()
    large = 2**60
    if field == "sent":
        request = replace(request, content=replace(request.content, sent_at_ms=large))
    elif field == "created":
        given = replace(given, created_at_ms=large)
    else:
        given = replace(given, history_expires_at_ms=large)

    with pytest.raises(StoreUnavailable, match="too large"):
        await store.commits.reserve(request, DELIVERY, given)
    assert await store.commits.load_commit(request.key, KEY) is None


async def test_ot_50_a_message_that_is_not_committed_yet_proves_no_anchor(
    store: RedisBackend, grant: Grant
) -> None:
    """OT-50: it is in history already, and an anchor says that all is committed."""
    given = ReserveCandidate(observed(1).message_id, BORN_MS)
    intent = await store.commits.reserve(request_of(KEY, observed(1)), DELIVERY, given)
    assert isinstance(intent, CommitIntent)
    await store.commits.put_record(intent)
    works = [claim(grant, 1)]
    assert await store.observations.commit_group(works) == [ClaimUnproven()]

    publication = await published(store, intent)
    await store.commits.mark_published_and_committed(intent, publication)

    (proven,) = await store.observations.commit_group(works)
    assert isinstance(proven, ClaimProven)
    assert proven.anchor.latest_message_id == observed(1).message_id
