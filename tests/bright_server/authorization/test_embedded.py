"""The embedded authority, over the real store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing

import pytest

from bright_server.authorization.contract import Binding, Standing
from bright_server.authorization.embedded import EmbeddedAuthority, issue_binding
from bright_server.errors import (
    AuthorityUnavailable,
    BindingRefused,
    StoreUnavailable,
)
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore
from tests.bright_server.manual_clock import ManualClock


class FailingLedger:
    """A ledger that cannot be read."""

    async def add(self, binding: Binding, token_digest: bytes) -> None:
        raise StoreUnavailable("write", "away")

    async def all(self) -> list[Binding]:
        raise StoreUnavailable("read", "away")

    async def revoke(self, binding_id: BindingId, now_ms: int) -> Binding | None:
        raise StoreUnavailable("write", "away")

    async def by_digest(self, token_digest: bytes) -> Binding | None:
        raise StoreUnavailable("read", "away")

    async def by_ids(
        self, binding_ids: Iterable[BindingId]
    ) -> Mapping[BindingId, Binding]:
        raise StoreUnavailable("read", "away")


async def test_a_token_gives_its_accounts_until_it_is_revoked(
    store: SqliteStore, clock: ManualClock
) -> None:
    ledger = store.bindings
    authority = EmbeddedAuthority(ledger, 2)
    issued = await issue_binding(ledger, ["a", "b", "a"], "desk", clock.now_ms())

    grant = await authority.authenticate(issued.token)
    assert grant.accounts == frozenset({"a", "b"})
    assert await authority.standings([grant]) == {grant: Standing.VALID}

    binding_id = issued.binding.binding_id
    for _ in range(2):
        revoked = await ledger.revoke(binding_id, clock.now_ms())
        assert revoked is not None
        assert revoked.authorization_version == 2
    assert await authority.standings([grant]) == {grant: Standing.REVOKED}
    with pytest.raises(BindingRefused):
        await authority.authenticate(issued.token)


async def test_an_unknown_token_and_an_unknown_binding_are_refused(
    store: SqliteStore,
) -> None:
    authority = EmbeddedAuthority(store.bindings, 2)
    nobody = Grant(BindingId("bnd_nobody"), 1, frozenset())

    with pytest.raises(BindingRefused):
        await authority.authenticate("brt_guess")
    assert await authority.standings([nobody]) == {nobody: Standing.REVOKED}


async def test_the_token_is_nowhere_in_the_store(
    store: SqliteStore, settings: Settings, clock: ManualClock
) -> None:
    issued = await issue_binding(store.bindings, ["a"], "desk", clock.now_ms())

    with closing(sqlite3.connect(settings.database_path)) as database:
        written = "\n".join(database.iterdump())
    assert issued.binding.binding_id in written
    assert issued.token not in written
    assert issued.token not in repr(issued)


async def test_ot_60_a_ledger_that_cannot_be_read_is_a_silent_authority() -> None:
    authority = EmbeddedAuthority(FailingLedger(), 2)

    who = "the database that holds the bindings does not answer: "
    with pytest.raises(AuthorityUnavailable, match=who):
        await authority.authenticate("brt_x")
    with pytest.raises(AuthorityUnavailable, match=who):
        await authority.standings([])
