"""Bindings in the same database (OT-60)."""

from __future__ import annotations

from bright_server.authorization.embedded import issue_binding
from bright_server.authorization.tokens import token_digest
from bright_server.messages import BindingId
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import NOW_MS, Everybody
from bright_server.testing.under_test import StoreUnderTest


class BindingSuite:
    """Who may connect, for which accounts, and since when no more."""

    async def test_a_binding_is_found_by_its_token_and_its_id(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-60: also after a restart; the oldest first; else nothing."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            young = await issue_binding(backend.bindings, ["a", "b"], "ü", NOW_MS + 1)
            old = await issue_binding(backend.bindings, ["c"], "old", NOW_MS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            bindings = backend.bindings
            assert await bindings.all() == [old.binding, young.binding]
            for issued in (young, old):
                digest = token_digest(issued.token)
                assert await bindings.by_digest(digest) == issued.binding
            assert await bindings.by_digest(token_digest("brt_other")) is None
            wanted = [young.binding.binding_id, BindingId("bnd_none")]
            assert await bindings.by_ids(wanted) == {wanted[0]: young.binding}
            assert await bindings.by_ids([]) == {}

    async def test_revoking_raises_the_version_once(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-60: durably; twice changes nothing, and what is not there is none."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            issued = await issue_binding(backend.bindings, ["a"], "label", NOW_MS)
            name = issued.binding.binding_id
            revoked = await backend.bindings.revoke(name, NOW_MS + 5)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            assert await backend.bindings.revoke(name, NOW_MS + 9) == revoked
            assert await backend.bindings.revoke(BindingId("bnd_none"), NOW_MS) is None
            digest = token_digest(issued.token)
            assert await backend.bindings.by_digest(digest) == revoked
        assert revoked is not None
        assert revoked.revoked_at_ms == NOW_MS + 5
        assert revoked.authorization_version == 2
