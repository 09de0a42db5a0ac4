"""Several servers on one database: one numbering, one log, no circle of waiting."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

from bright_server.commit.groups import BatchCommitted, ObservedBatch, Progress
from bright_server.errors import IdentityConflict
from bright_server.messages import ConversationKey, Grant
from bright_server.stores.postgresql import schema
from bright_server.stores.postgresql.store import PostgresqlBackend, opened
from bright_server.testing.sends import (
    ACCOUNT,
    CONVERSATION,
    Everybody,
    batch_of,
    committed,
    granted,
    sending,
    showing,
)
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import Records
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest

SERVERS, GROUPS, CONVERSATIONS = 3, 12, 4


def key(number: int) -> ConversationKey:
    return ConversationKey(ACCOUNT, f"c{number}")


async def several(
    stores: PostgresqlUnderTest, stack: AsyncExitStack
) -> list[PostgresqlBackend]:
    return [
        await stack.enter_async_context(stores.opened(ManualClock(), Everybody()))
        for _ in range(SERVERS)
    ]


def a_group(grant: Grant, chance: random.Random) -> list[ObservedBatch]:
    """Some messages of some conversations, in any order; others send the same."""
    return [
        batch_of(
            grant,
            *(showing(f"p{chance.randrange(60)}") for _ in range(5)),
            conversation=key(number),
        )
        for number in chance.sample(range(CONVERSATIONS), 3)
    ]


async def test_ms_20_groups_and_sends_of_several_servers_share_one_numbering(
    stores: PostgresqlUnderTest, records: Records
) -> None:
    """MS-20: no gap, no repeat, in conversations and in the log; each scope once."""
    told: dict[tuple[str, str], set[int]] = {}

    async def observe(backend: PostgresqlBackend, grant: Grant, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        for _ in range(GROUPS):
            group = a_group(grant, chance)
            outcomes = await backend.observations.commit_group(group)
            for batch, outcome in zip(group, outcomes, strict=True):
                assert isinstance(outcome, BatchCommitted)
                ids = batch.messages.message_ids
                for name, sequence in zip(ids, outcome.sequences, strict=True):
                    scope = (batch.conversation.conversation_id, name)
                    told.setdefault(scope, set()).add(sequence)

    async def send(backend: PostgresqlBackend, who: int) -> None:
        for number in range(GROUPS):
            request = sending(
                f"s{who}-{number}", conversation=key(number % CONVERSATIONS)
            )
            await committed(backend, request)

    async with AsyncExitStack() as stack:
        backends = await several(stores, stack)
        grant = await granted(backends[0])
        await asyncio.gather(
            *(observe(each, grant, seed) for seed, each in enumerate(backends)),
            *(send(each, who) for who, each in enumerate(backends)),
        )
        log = await stores.published(backends[0])

    messages = await records("message")
    assert all(len(places) == 1 for places in told.values()), "one scope, one place"
    assert len(messages) == len(told) + SERVERS * GROUPS
    for conversation in await records("conversation"):
        name, last = conversation["conversationId"], conversation["lastSequence"]
        mine = [e["sequence"] for e in messages if e["conversationId"] == name]
        assert sorted(mine) == list(range(1, last + 1))
    assert [e["position"] for e in messages] == list(range(1, len(messages) + 1))
    assert [e["position"] for e in await records("outbox")] == [
        e["position"] for e in messages
    ]
    assert len(log) == len(set(log)) == len(messages)


async def test_ms_12_of_racing_requests_of_one_key_one_wins_wherever_they_go(
    stores: PostgresqlUnderTest,
) -> None:
    """MS-12: through three servers, into several conversations; one number is taken."""
    requests = [
        sending("m1", f"text {n % 2}", conversation=key(n % CONVERSATIONS))
        for n in range(20)
    ]
    async with AsyncExitStack() as stack:
        backends = await several(stores, stack)
        outcomes = await asyncio.gather(
            *(
                committed(backends[n % SERVERS], request)
                for n, request in enumerate(requests)
            ),
            return_exceptions=True,
        )
        log = await stores.published(backends[0])
    won = {str(each) for each in outcomes if not isinstance(each, BaseException)}
    lost = Counter(type(each) for each in outcomes if isinstance(each, BaseException))
    assert len(won) <= 1, "one place"
    assert lost.keys() <= {IdentityConflict, AssertionError}  # committed by another
    assert len(log) == 1


async def test_conversations_that_nobody_knew_are_made_by_all_at_once(
    stores: PostgresqlUnderTest, records: Records
) -> None:
    names = [ConversationKey(ACCOUNT, f"new{number}") for number in range(10)]
    async with AsyncExitStack() as stack:
        backends = await several(stores, stack)
        grant = await granted(backends[0])
        works = [Progress(grant, each, "1", False, None, 1) for each in names]
        await asyncio.gather(
            *(each.observations.commit_group(works) for each in backends),
            *(each.observations.commit_group(works[::-1]) for each in backends),
        )

    assert len(await records("conversation")) == len(names)


async def test_many_may_open_a_new_database_at_once(
    stores: PostgresqlUnderTest,
) -> None:
    async def open_once() -> str:
        async with opened(stores.settings(), ManualClock()) as backend:
            return backend.observations.store_id

    names = await asyncio.gather(*(open_once() for _ in range(6)))

    assert len(set(names)) == 1
    state = await schema.schema_state(stores.settings())
    assert (state.version, list(state.due)) == (schema.SCHEMA_VERSION, [])


async def test_ms_28_a_page_read_while_others_write_has_no_hole_that_is_a_loss(
    stores: PostgresqlUnderTest,
) -> None:
    """MS-28: whoever reads on from the last sequence gets each message, once."""
    read: list[int] = []
    async with AsyncExitStack() as stack:
        backends = await several(stores, stack)
        grant = await granted(backends[0])

        async def write(backend: PostgresqlBackend, who: int) -> None:
            for number in range(GROUPS):
                batch = batch_of(grant, showing(f"{who}-{number}"))
                await backend.observations.commit_group([batch])
                await committed(backend, sending(f"s{who}-{number}"))

        writing = asyncio.gather(*(write(each, n) for n, each in enumerate(backends)))
        reader = backends[0].messages
        expected = 2 * SERVERS * GROUPS
        async with asyncio.timeout(60):
            while len(read) < expected:
                after = read[-1] if read else 0
                page, _ = await reader.messages_after(CONVERSATION, after, 7)
                read += [each.sequence for each in page]
        await writing

    assert read == list(range(1, expected + 1))
