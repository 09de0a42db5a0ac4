"""What a database says of itself: made, stepped forward, or refused.

The key `bright:store` has the store's id, the version of what is in the database, the
oldest server that may open it, and into how many shards it is spread; the last never
changes, whatever the settings say.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from redis.exceptions import ResponseError

from bright_server.clock import Clock
from bright_server.commit.schema_steps import SchemaState, SchemaStep
from bright_server.errors import SchemaRefused, StoreMissing
from bright_server.settings import Settings
from bright_server.stores.redis.answers import unavailable
from bright_server.stores.redis.connection import RedisLink, linked
from bright_server.stores.redis.conveyor import Command, Reply
from bright_server.stores.redis.keys import COPY, OURS, STORE
from bright_server.stores.redis.scripts import call

SCHEMA_VERSION: Final = 1
# Raised only with a step after which older servers would read the data wrongly.
OLDEST_COMPATIBLE_VERSION: Final = 1

_OURS: Final = OURS.removesuffix("*").encode()
_LOOKED_AT: Final = 1_000

STEPS: Final = (SchemaStep(1, "0001_the_store"),)


@dataclass(frozen=True, slots=True)
class StoreKey:
    """What stands in `bright:store`."""

    store_id: str
    version: int
    oldest: int
    shards: int
    made_at_ms: int


async def prepare(link: RedisLink, settings: Settings, clock: Clock) -> StoreKey:
    """Make the database where there is none; refuse one that is too new.

    Two servers that start at once make one database. One that is there is only read.

    Raises:
        SchemaRefused: it belongs to a newer server, or to another program.
        StoreUnavailable: it could not be read or written, or not durably.
    """
    doing = f"open {settings.database}"
    there = await _look(link, settings)
    if there[0] is not None:
        return _checked(there, settings)
    if await has_foreign_keys(link, doing):
        raise SchemaRefused(
            str(settings.database),
            "it holds keys of another program: choose another database number",
        )
    found = call(
        "found",
        (STORE,),
        (
            uuid.uuid4().hex, SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION,
            settings.redis_shards, clock.now_ms(),
        ),
    )  # fmt: skip

    def decide(is_copied_into: Reply) -> Sequence[Command]:
        _refuse_unfinished(is_copied_into, settings)
        return [found]

    # Watched: a copy may be begun at this very moment.
    (reply,) = await link.transact(doing, COPY, ("EXISTS", COPY), decide)
    if isinstance(reply, ResponseError):
        raise unavailable(doing, reply) from reply
    return _checked(reply, settings)


async def read(link: RedisLink, settings: Settings) -> StoreKey:
    """Return what the database says of itself; none is made.

    Raises:
        StoreMissing: there is none.
        SchemaRefused: it belongs to a newer server, or to another program.
        StoreUnavailable: it could not be read.
    """
    reply = await _look(link, settings)
    if reply[0] is None:
        raise StoreMissing(str(settings.database))
    return _checked(reply, settings)


async def has_foreign_keys(link: RedisLink, doing: str) -> bool:
    """Say whether some of the database's first keys, or one by chance, are not ours.

    Raises:
        StoreUnavailable: it could not be read.
    """
    by_chance, (_, first) = await link.talk(
        doing, [("RANDOMKEY",), ("SCAN", 0, "COUNT", _LOOKED_AT)]
    )
    names = [*first, *([] if by_chance is None else [by_chance])]
    return not all(name.startswith(_OURS) for name in names)


async def schema_state(settings: Settings) -> SchemaState:
    """See `SchemaSteps.schema_state`."""
    async with linked(settings) as link:
        return _state(await read(link, settings))


async def step_forward(settings: Settings, clock: Clock) -> SchemaState:
    """See `SchemaSteps.step_forward`; the first version is all that there is so far."""
    async with linked(settings) as link:
        await read(link, settings)
        return _state(await prepare(link, settings, clock))


async def _look(link: RedisLink, settings: Settings) -> Sequence[bytes | None]:
    is_copied_into, *found = await link.talk(
        f"open {settings.database}",
        [
            ("EXISTS", COPY),
            ("HMGET", STORE, "id", "version", "oldest", "shards", "made"),
            ("EXISTS", STORE),
        ],
    )
    _refuse_unfinished(is_copied_into, settings)
    reply: Sequence[bytes | None]
    reply, is_there = found
    # A key of that name without an id is no store, but it is not nothing either.
    return [b"", *reply[1:]] if is_there and reply[0] is None else reply


def _refuse_unfinished(is_copied_into: Reply, settings: Settings) -> None:
    if is_copied_into:
        raise SchemaRefused(
            str(settings.database),
            "a copy into it was begun and is not finished: run `bright store copy`"
            " again, or empty it",
        )


def _state(found: StoreKey) -> SchemaState:
    due = [step for step in STEPS if step.version > found.version]
    return SchemaState(found.version, due)


def _checked(reply: Sequence[bytes | None], settings: Settings) -> StoreKey:
    try:
        store_id, *numbers = reply
        found = StoreKey((store_id or b"").decode(), *(int(n or b"") for n in numbers))
    except ValueError as error:
        raise SchemaRefused(
            str(settings.database),
            f"{STORE} is not what Bright writes: choose another database number",
        ) from error
    if found.oldest > SCHEMA_VERSION:
        raise SchemaRefused(
            str(settings.database),
            f"its schema {found.version} needs a server that knows schema"
            f" {found.oldest}, this one knows {SCHEMA_VERSION}: upgrade Bright, or"
            " restore an older copy",
        )
    return found
