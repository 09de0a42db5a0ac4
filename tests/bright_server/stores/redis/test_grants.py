"""A grant is judged in the very transaction that stores what it allows (OT-60)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from redis.asyncio.connection import AbstractConnection

from bright_server.authorization.contract import Standing
from bright_server.authorization.embedded import issue_binding
from bright_server.commit.groups import Denied
from bright_server.errors import StoreUnavailable
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis import connection
from bright_server.stores.redis.conveyor import Command
from bright_server.stores.redis.dump import dump
from bright_server.stores.redis.store import opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import OTHER, batch, observed, sequences


@pytest.mark.parametrize("what", ["revoked", "another is added"])
async def test_ot_60_a_binding_that_changes_between_judgement_and_commit_is_seen(
    settings: Settings,
    clock: ManualClock,
    grant: Grant,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    """OT-60: another server revokes it when it was judged and nothing is stored yet."""
    load_missing = connection._load_missing
    changes = 0

    async with opened(settings, clock) as store, opened(settings, clock) as other:

        async def changed_first(
            wire: AbstractConnection, doing: str, commands: Sequence[Command]
        ) -> None:
            nonlocal changes
            await load_missing(wire, doing, commands)
            if changes < 3:
                changes += 1
                if what == "revoked":
                    await other.bindings.revoke(grant.binding_id, clock.now_ms())
                else:
                    await issue_binding(other.bindings, [ACCOUNT], "", changes)

        monkeypatch.setattr(connection, "_load_missing", changed_first)
        outcomes = await store.observations.commit_group(
            [batch(grant, observed(1)), batch(grant, observed(1), key=OTHER)]
        )

    stored = [each async for each in dump(settings) if each["type"] == "message"]
    if what == "revoked":
        assert outcomes == [Denied(Standing.REVOKED)] * 2
        assert stored == []
    else:
        assert changes == 3, "it was judged anew each time"
        assert [sequences(each) for each in outcomes] == [[(1, False)]] * 2
        assert len(stored) == 2


async def test_ot_60_bindings_that_never_stop_changing_are_given_up_in_time(
    settings: Settings,
    clock: ManualClock,
    grant: Grant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OT-60: nothing is stored on grounds that changed; nor is it tried for ever."""
    load_missing = connection._load_missing
    changes = 0

    async with opened(settings, clock) as store, opened(settings, clock) as other:

        async def changed_always(
            wire: AbstractConnection, doing: str, commands: Sequence[Command]
        ) -> None:
            nonlocal changes
            await load_missing(wire, doing, commands)
            changes += 1
            await issue_binding(other.bindings, [ACCOUNT], "", changes)

        monkeypatch.setattr(connection, "_MOST_ATTEMPTS", 5)
        monkeypatch.setattr(connection, "_load_missing", changed_always)
        with pytest.raises(StoreUnavailable, match="changes all the time"):
            await store.observations.commit_group([batch(grant, observed(1))])

    assert changes == 5
    stored = [each async for each in dump(settings) if each["type"] == "message"]
    assert stored == []
