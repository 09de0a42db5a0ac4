"""The canonical identity: what makes a repeat a repeat (MS-12, MS-13)."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying

from bright_server.commit.identity import (
    digest_of,
    full_identity,
    identity_digest,
    is_identity_of,
)
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitKey,
    MessageContent,
)
from bright_server.errors import CommitUnreadable
from bright_server.messages import ConversationKey
from bright_server.testing.sends import others_of, sending
from tests.bright_server.commit.requests import requests

T = TypeVar("T", bound=Any)


def parts_of(full: bytes) -> list[Any]:
    """Read a full form by what docs/commit-formats.md says of it, and nothing else."""
    assert full[:5] == b"QIMC\x01"
    found: list[str | None] = []
    rest = full[5:]
    while rest:
        size, rest = rest[:4], rest[4:]
        if size == b"\xff\xff\xff\xff":
            found.append(None)
            continue
        length = int.from_bytes(size, "big")
        assert len(rest) >= length
        found.append(rest[:length].decode())
        rest = rest[length:]
    return found


def request_of(full: bytes) -> AuthenticatedSend:
    """Return the request that a full form was made of."""
    key, (device, account, conversation), said, (reply_to, count), mentions = (
        (parts := parts_of(full))[:4],
        parts[4:7],
        parts[7:17],
        parts[17:19],
        parts[19:],
    )
    assert int(count) == len(mentions)
    author, direction, kind, custom_type, text, content, quote, recall, at, body = said
    return AuthenticatedSend(
        CommitKey(*key),
        ConversationKey(account, conversation),
        MessageContent(
            author_id=author,
            direction=direction,
            kind=kind,
            text=text,
            content=content,
            quote=quote,
            recall=recall,
            sent_at_ms=None if at is None else int(at),
            custom_type=custom_type,
            body_reference=body,
        ),
        device,
        tuple(mentions),
        reply_to,
    )


@given(requests)
@trying(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_full_form_can_be_read_back(request: AuthenticatedSend) -> None:
    """MS-12: so no two requests have the same one, whatever their texts hold."""
    assert request_of(full_identity(request)) == request


@given(requests, requests)
@trying(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_identities_are_equal_exactly_when_requests_are(
    one: AuthenticatedSend, other: AuthenticatedSend
) -> None:
    """MS-12: in the full form and in the digest."""
    same = one == other
    assert (full_identity(one) == full_identity(other)) is same
    assert (identity_digest(one) == identity_digest(other)) is same
    assert is_identity_of(full_identity(one), other) is same
    assert is_identity_of(identity_digest(one), other) is same


def _each_changed(part: T) -> list[T]:
    """Return a record once for each of its fields, with that one changed."""
    return [
        replace(part, **{each.name: 7 if each.name == "sent_at_ms" else "other"})
        for each in fields(part)
    ]


def test_every_field_of_a_request_is_part_of_it() -> None:
    """MS-12: also one that is added later; whoever adds it decides here."""
    request = sending()
    changed = [
        *others_of(request).values(),
        *(replace(request, key=each) for each in _each_changed(request.key)),
        *(replace(request, content=each) for each in _each_changed(request.content)),
        *(
            replace(request, conversation=each)
            for each in _each_changed(request.conversation)
        ),
    ]
    known = {"key", "conversation", "content", "device", "mentions", "reply_to"}
    assert {each.name for each in fields(AuthenticatedSend)} == known
    identities = {full_identity(each) for each in [request, *changed]}
    assert len(identities) == len({request, *changed})
    for each in changed:
        assert not is_identity_of(identity_digest(request), each)
        assert not is_identity_of(full_identity(request), each)


def test_the_digest_has_a_domain_of_its_own() -> None:
    """MS-13: the digest of the bytes alone is another one."""
    full = full_identity(sending())
    digest = digest_of(full)
    assert digest[:5] == b"QIMD\x01"
    assert len(digest) == 37
    assert digest[5:] != hashlib.sha256(full).digest()
    domain = b"bright.commit.request-identity.v1\x00"
    assert digest[5:] == hashlib.sha256(domain + full).digest()


@pytest.mark.parametrize(
    "persisted",
    [
        b"",
        b"QIMD",
        b"QIMD\x02" + bytes(32),
        b"QIMC\x02",
        b"QIMX\x01" + bytes(32),
        identity_digest(sending())[:-1],
        identity_digest(sending()) + b"\x00",
    ],
)
def test_what_is_in_neither_form_is_not_judged(persisted: bytes) -> None:
    """MS-13, MS-30: neither a repeat nor a conflict may be made of it."""
    with pytest.raises(CommitUnreadable):
        is_identity_of(persisted, sending())
