"""What is read out of a service's answer, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bright_server.authorization.dialogue import read_grant, read_standings
from bright_server.errors import AuthorityUnavailable
from bright_server.messages import BindingId, Grant

Frame = dict[str, Any]
Key: TypeAlias = str | int

QUESTION = "the question"
GRANT: Frame = {
    "questionId": QUESTION,
    "result": "granted",
    "bindingId": "desk",
    "accounts": ["a", "b"],
    "authorizationVersion": 3,
}
STANDINGS: Frame = {
    "questionId": QUESTION,
    "bindings": [
        {"bindingId": "desk", "standing": "valid", "authorizationVersion": 3},
        {"bindingId": "shop", "standing": "revoked", "authorizationVersion": 1},
    ],
}
ASKED = [BindingId("desk"), BindingId("shop")]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def places(value: object, path: tuple[Key, ...] = ()) -> list[tuple[Key, ...]]:
    """Every place of a JSON value, from the top."""
    inner: Iterable[tuple[Key, object]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [
        path,
        *(place for key, part in inner for place in places(part, (*path, key))),
    ]


def replaced(value: Frame, path: Sequence[Key], by: object) -> object:
    """The value with what is at the path replaced."""
    if not path:
        return by
    copy = deepcopy(value)
    place: Any = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = by
    return copy


def test_a_right_answer_is_read_whatever_else_is_in_it() -> None:
    grant = read_grant(json.dumps(GRANT | {"more": [1]}).encode(), QUESTION)
    standings = read_standings(json.dumps(STANDINGS).encode(), QUESTION, ASKED)
    refusal = json.dumps({"questionId": QUESTION, "result": "refused"})

    assert grant == Grant(BindingId("desk"), 3, frozenset({"a", "b"}))
    assert {each: now.standing for each, now in standings.items()} == {
        "desk": "valid",
        "shop": "revoked",
    }
    assert read_grant(refusal.encode(), QUESTION) is None


@given(st.binary())
@example(b"\xff")
@example(b"[" * 100_000)
@example(b'{"questionId": "the question", "result": "granted"}')
@example(b"NaN")
def test_ot_60_any_bytes_are_an_answer_or_an_unavailable_authority(body: bytes) -> None:
    """OT-60: nothing else is raised, so whoever asks always fails closed."""
    with pytest.raises(AuthorityUnavailable) as refused:
        read_grant(body, QUESTION)
    assert refused.value.fault == "malformed"
    with pytest.raises(AuthorityUnavailable):
        read_standings(body, QUESTION, ASKED)


@given(st.sampled_from(places(GRANT)), values)
def test_ot_60_a_grant_with_a_part_replaced_grants_no_more_than_it_says(
    place: tuple[Key, ...], value: object
) -> None:
    """OT-60: a malformed answer is never a yes; nor is it a refusal."""
    answer: Any = replaced(GRANT, place, value)
    with suppress(AuthorityUnavailable):
        grant = read_grant(json.dumps(answer).encode(), QUESTION)
        assert grant is not None
        check_grant(grant, answer)


def check_grant(grant: Grant, answer: Frame) -> None:
    assert answer["questionId"] == QUESTION
    assert (grant.binding_id, grant.authorization_version) == (
        answer["bindingId"],
        answer["authorizationVersion"],
    )
    assert grant.accounts == frozenset(answer["accounts"])
    assert all(grant.accounts)


@given(st.sampled_from(places(STANDINGS)), values)
def test_ot_60_standings_with_a_part_replaced_say_valid_of_nobody_else(
    place: tuple[Key, ...], value: object
) -> None:
    """OT-60: a yes is a whole one, for a binding that was asked about, or none."""
    answer: Any = replaced(STANDINGS, place, value)
    with suppress(AuthorityUnavailable):
        said = read_standings(json.dumps(answer).encode(), QUESTION, ASKED)
        assert answer["questionId"] == QUESTION
        assert list(said) == ASKED
        assert said[ASKED[0]].standing == "valid"
        assert said[ASKED[1]].standing == "revoked"


# Begun with a sign that no word of ours has: what is drawn may well be a field's name.
@given(st.text(min_size=20).map("§{}".format))
def test_no_part_of_an_answer_is_in_the_words_of_its_error(secret: str) -> None:
    for field in ("result", "bindingId", "accounts", "authorizationVersion", secret):
        body = json.dumps({**GRANT, field: secret, "questionId": secret}).encode()
        with pytest.raises(AuthorityUnavailable) as refused:
            read_grant(body, QUESTION)
        assert secret not in str(refused.value)
        assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    "bindings",
    [
        STANDINGS["bindings"][:1],
        [*STANDINGS["bindings"], STANDINGS["bindings"][0]],
        [*STANDINGS["bindings"], STANDINGS["bindings"][0] | {"bindingId": "else"}],
        [],
    ],
    ids=["one is missing", "one comes twice", "one was not asked about", "none"],
)
def test_ot_60_standings_are_for_each_that_was_asked_about_once(
    bindings: list[object],
) -> None:
    """OT-60: half an answer is none."""
    body = json.dumps(STANDINGS | {"bindings": bindings}).encode()

    with pytest.raises(AuthorityUnavailable, match="not each that was asked about"):
        read_standings(body, QUESTION, ASKED)
