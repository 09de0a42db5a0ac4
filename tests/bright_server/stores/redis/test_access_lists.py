"""A user of the server who may not do everything: told what is missing, by its name."""

from __future__ import annotations

import pytest

from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.redis.store import opened
from bright_server.testing.engines.valkey import Valkey
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import committed

ENOUGH = (
    "~bright:*", "+@read", "+@write", "+@transaction", "+@scripting", "+@connection",
    "+info", "+config|get",
)  # fmt: skip
"""As docs/backends.md has it."""


def as_user(server: Valkey, *rules: str) -> Settings:
    server.ask("ACL", "SETUSER", "narrow", "reset", "on", ">pass", *rules)
    return Settings.model_validate(
        {
            "database": f"redis://narrow@127.0.0.1:{server.port}/0",
            "database_password": "pass",
            "redis_shards": 4,
        }
    )


async def test_the_documented_grants_are_enough(
    own_server: Valkey, clock: ManualClock
) -> None:
    async with opened(as_user(own_server, *ENOUGH), clock) as store:
        await store.prove_writable()
        await committed(store)


@pytest.mark.parametrize(
    "command", ["config|get", "info", "waitaof", "multi", "evalsha", "hset", "set"]
)
async def test_ms_15_a_command_that_is_forbidden_is_named_with_what_grants_it(
    own_server: Valkey, clock: ManualClock, command: str
) -> None:
    """MS-15: whoever reads it knows what to do; a script's commands too."""
    settings = as_user(own_server, *ENOUGH, f"-{command}")

    with pytest.raises((StoreUnavailable, PublicationNotDurable)) as refused:
        async with opened(settings, clock) as store:
            await store.prove_writable()

    assert f"forbids `{command}` to this user" in str(refused.value)
    assert f"`+{command}`" in str(refused.value)


async def test_keys_that_are_forbidden_are_named(
    own_server: Valkey, clock: ManualClock
) -> None:
    settings = as_user(own_server, "~other:*", *ENOUGH[1:])

    with pytest.raises(StoreUnavailable, match=r"grant it `~bright:\*`"):
        async with opened(settings, clock):
            pytest.fail("it was let in")
