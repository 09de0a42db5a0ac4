"""What every authority promises, asked of both: embedded, and remote over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bright_server.authorization.contract import Authority, Standing
from bright_server.errors import BindingRefused
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from tests.bright_server.authorization.realms import BACK_ENDS, Operator

Realm = tuple[Authority, Operator]


@pytest.fixture(params=BACK_ENDS)
async def realm(
    request: pytest.FixtureRequest, settings: Settings
) -> AsyncIterator[Realm]:
    async with BACK_ENDS[request.param](settings) as realm:
        yield realm


async def test_ot_60_a_token_gives_its_own_accounts_and_no_others(realm: Realm) -> None:
    """OT-60: a binding's scope is its own accounts."""
    authority, operator = realm
    mine, mine_id = await operator.issue("a", "b")
    theirs, theirs_id = await operator.issue("c")

    one, other = (
        await authority.authenticate(mine),
        await authority.authenticate(theirs),
    )

    assert one == Grant(BindingId(mine_id), 1, frozenset({"a", "b"}))
    assert other == Grant(BindingId(theirs_id), 1, frozenset({"c"}))


async def test_ot_60_an_unknown_token_is_refused(realm: Realm) -> None:
    """OT-60: a missing binding fails closed."""
    authority, operator = realm
    await operator.issue("a")

    with pytest.raises(BindingRefused):
        await authority.authenticate("brt_guess")


async def test_ot_60_a_revoked_binding_is_refused_and_no_longer_stands(
    realm: Realm,
) -> None:
    """OT-60: a revocation counts from the next question on: no yes is kept."""
    authority, operator = realm
    token, binding_id = await operator.issue("a")
    grant = await authority.authenticate(token)
    assert await authority.standings([grant]) == {grant: Standing.VALID}

    await operator.revoke(binding_id)

    assert await authority.standings([grant]) == {grant: Standing.REVOKED}
    with pytest.raises(BindingRefused):
        await authority.authenticate(token)


async def test_ot_60_another_version_is_said_and_a_new_greeting_gets_it(
    realm: Realm,
) -> None:
    """OT-60: the authorization version is checked as well as the binding."""
    authority, operator = realm
    token, binding_id = await operator.issue("a")
    old = await authority.authenticate(token)

    await operator.raise_version(binding_id)

    assert await authority.standings([old]) == {old: Standing.VERSION_CHANGED}
    new = await authority.authenticate(token)
    assert new.authorization_version == old.authorization_version + 1
    assert await authority.standings([old, new]) == {
        old: Standing.VERSION_CHANGED,
        new: Standing.VALID,
    }


async def test_ot_60_one_question_is_for_many_grants_and_each_has_its_answer(
    realm: Realm,
) -> None:
    """OT-60: nobody's standing is another's; a binding never heard of has none."""
    authority, operator = realm
    issued = [await operator.issue(f"account-{n}") for n in range(20)]
    grants = [await authority.authenticate(token) for token, _ in issued]
    nobody = Grant(BindingId("nobody"), 1, frozenset({"account-1"}))
    await operator.revoke(issued[7][1])

    standings = await authority.standings([*grants, nobody])

    wrong = {each: said for each, said in standings.items() if said is Standing.REVOKED}
    assert set(wrong) == {grants[7], nobody}
    assert len(standings) == 21
    assert await authority.standings([]) == {}
