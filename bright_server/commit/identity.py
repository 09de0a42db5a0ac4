"""The canonical identity of a request: what makes a repeat a repeat (MS-12). No I/O.

Two requests of one key are the same message exactly when their identities are equal:
key, device, conversation, content, mentions and reply. The full form (`QIMC`) is an
injective encoding of all of them; what is kept is its digest under a domain of its own
(`QIMD`), 36 bytes however long the message is. A store may still hold full forms: they
are compared byte by byte (MS-13).

The format, version 1: the four letters; the version as one byte; then for the full form
each part in the order of `_parts`, as a four-byte big-endian length and so many bytes
of UTF-8, a part that is None as the length 0xFFFFFFFF and nothing. The digest is
SHA-256 over the domain, a zero byte and the full form. `docs/commit-formats.md` has
test vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from bright_server.commit.records import AuthenticatedSend
from bright_server.errors import CommitUnreadable

DIGEST_HEAD: Final = b"QIMD\x01"
FULL_HEAD: Final = b"QIMC\x01"
DOMAIN: Final = b"bright.commit.request-identity.v1"
DIGEST_BYTES: Final = len(DIGEST_HEAD) + hashlib.sha256().digest_size

_NONE: Final = b"\xff\xff\xff\xff"


def full_identity(request: AuthenticatedSend) -> bytes:
    """Return the full form; different requests have different ones.

    Raises:
        UnicodeEncodeError: a part holds an unpaired surrogate, which no checked request
            does.
    """
    return FULL_HEAD + b"".join(map(_framed, _parts(request)))


def identity_digest(request: AuthenticatedSend) -> bytes:
    """Return the digest form, which is what a store keeps.

    Raises:
        UnicodeEncodeError: as `full_identity`.
    """
    return digest_of(full_identity(request))


def digest_of(full: bytes) -> bytes:
    """Return the digest form of a full form."""
    return DIGEST_HEAD + hashlib.sha256(DOMAIN + b"\0" + full).digest()


def is_identity_of(persisted: bytes, request: AuthenticatedSend) -> bool:
    """Say whether what a store has kept is this request's identity.

    Raises:
        CommitUnreadable: it is in neither form.
    """
    if persisted.startswith(DIGEST_HEAD) and len(persisted) == DIGEST_BYTES:
        return persisted == identity_digest(request)
    if persisted.startswith(FULL_HEAD):
        return persisted == full_identity(request)
    raise CommitUnreadable(
        f"the key {request.key.client_message_id!a}",
        f"its identity begins with {persisted[:5]!r}",
    )


def _framed(part: str | None) -> bytes:
    if part is None:
        return _NONE
    encoded = part.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def _parts(request: AuthenticatedSend) -> Iterator[str | None]:
    key, said = request.key, request.content
    yield from (key.origin, key.tenant, key.sender, key.client_message_id)
    yield request.device
    yield request.conversation.channel_account_id
    yield request.conversation.conversation_id
    yield from (said.author_id, said.direction, said.kind, said.custom_type)
    yield from (said.text, said.content, said.quote, said.recall)
    yield None if said.sent_at_ms is None else str(said.sent_at_ms)
    yield said.body_reference
    yield request.reply_to
    yield str(len(request.mentions))
    yield from request.mentions
