"""The words between Bright and an authorization service (docs/authority.md). No I/O.

Whatever a service answers, what comes out of here is a whole answer to the question
that was asked, or `AuthorityUnavailable`. Nothing of an answer's content is in the
error: it may hold what must not be in a log.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from bright_server.authorization.contract import Standing
from bright_server.errors import AuthorityUnavailable
from bright_server.messages import BindingId, Grant
from bright_server.wire.scalars import Counter, Frame, Identifier
from bright_server.wire.text import compact_json, unstorable_path

AUTHENTICATE: Final = "/v1/authenticate"
STANDINGS: Final = "/v1/standings"
MAX_ACCOUNTS: Final = 1_000


class _Answer(Frame):
    question_id: str


class _Granted(_Answer):
    result: Literal["granted"]
    binding_id: Identifier
    accounts: Annotated[list[Identifier], Field(max_length=MAX_ACCOUNTS)]
    authorization_version: Counter


class _Refused(_Answer):
    result: Literal["refused"]


class BindingNow(Frame):
    """One binding as the service knows it now."""

    binding_id: Identifier
    standing: Literal["valid", "revoked"]
    authorization_version: Counter


class _Standings(_Answer):
    bindings: list[BindingNow]


_AuthenticateAnswer: TypeAlias = Annotated[
    _Granted | _Refused, Field(discriminator="result")
]
_Given = TypeVar("_Given", bound=_Answer)

_AUTHENTICATE_ANSWER: Final[TypeAdapter[_Granted | _Refused]] = TypeAdapter(
    _AuthenticateAnswer
)
_STANDINGS_ANSWER: Final = TypeAdapter(_Standings)


def authenticate_question(question_id: str, digest: bytes) -> bytes:
    """Return the body that asks what a token with this digest allows."""
    asked = {"questionId": question_id, "tokenSha256": digest.hex()}
    return compact_json(asked).encode()


def read_grant(body: bytes, question_id: str) -> Grant | None:
    """Return what the token allows; None: it names no binding, or a revoked one.

    Raises:
        AuthorityUnavailable: this is no answer to that question.
    """
    answer = _read(_AUTHENTICATE_ANSWER, body, question_id)
    if isinstance(answer, _Refused):
        return None
    return Grant(
        BindingId(answer.binding_id),
        answer.authorization_version,
        frozenset(answer.accounts),
    )


def standings_question(question_id: str, bindings: Collection[BindingId]) -> bytes:
    """Return the body that asks how these bindings stand."""
    asked = {"questionId": question_id, "bindingIds": sorted(bindings)}
    return compact_json(asked).encode()


def read_standings(
    body: bytes, question_id: str, bindings: Collection[BindingId]
) -> Mapping[BindingId, BindingNow]:
    """Return how each of these bindings stands.

    Raises:
        AuthorityUnavailable: this is no answer to that question, or it does not have
            each of the bindings once and nothing else.
    """
    said = _read(_STANDINGS_ANSWER, body, question_id).bindings
    found = {BindingId(each.binding_id): each for each in said}
    if len(found) != len(said) or found.keys() != set(bindings):
        raise _malformed("bindings", "not each that was asked about, once")
    return found


def standing_by(grant: Grant, now: BindingNow) -> Standing:
    """Judge a grant by what the service says of its binding."""
    if now.standing == "revoked":
        return Standing.REVOKED
    if now.authorization_version != grant.authorization_version:
        return Standing.VERSION_CHANGED
    return Standing.VALID


def _read(kind: TypeAdapter[_Given], body: bytes, question_id: str) -> _Given:
    try:
        answer = kind.validate_json(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        # Not the message: it may quote the answer. Nor the error itself as a cause.
        raise _malformed(path, first["type"]) from None
    if answer.question_id != question_id:
        raise _malformed("questionId", "it answers another question")
    if (path_found := unstorable_path(answer.model_dump())) is not None:
        raise _malformed(path_found, "a lone surrogate or NUL")
    return answer


def _malformed(path: str, what: str) -> AuthorityUnavailable:
    return AuthorityUnavailable(
        f"its answer is not as the contract says (at {path or 'the top'}: {what})",
        "malformed",
    )
