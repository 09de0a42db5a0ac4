"""What an authority promises (OT-60).

An authority knows bindings: which token belongs to which accounts, and whether it still
does. It is asked on connecting, on every heartbeat and keep-alive, and before every
operation. Whoever asks fails closed: no answer is a no.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bright_server.messages import BindingId, Grant


class Standing(Enum):
    """What has become of a grant since it was given."""

    VALID = "valid"
    REVOKED = "revoked"
    VERSION_CHANGED = "version_changed"
    UNKNOWN = "unknown"
    """The authority did not say; an authority itself raises `AuthorityUnavailable`."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding as an operator sees it; its token is not in it."""

    binding_id: BindingId
    label: str
    accounts: tuple[str, ...]
    authorization_version: int
    created_at_ms: int
    revoked_at_ms: int | None


class BindingLedger(Protocol):
    """Where bindings are kept. A store implements it."""

    async def add(self, binding: Binding, token_digest: bytes) -> None:
        """Keep a new binding durably before returning."""
        ...

    async def all(self) -> list[Binding]:
        """Return every binding, revoked ones too, oldest first."""
        ...

    async def revoke(self, binding_id: BindingId, now_ms: int) -> Binding | None:
        """Revoke durably and raise the version; None if there is no such binding.

        Revoking twice changes nothing.
        """
        ...

    async def by_digest(self, token_digest: bytes) -> Binding | None:
        """Return the binding whose token has this digest."""
        ...

    async def by_ids(
        self, binding_ids: Iterable[BindingId]
    ) -> Mapping[BindingId, Binding]:
        """Return those of the bindings that exist, in one read."""
        ...


class Authority(Protocol):
    """Who is asked."""

    async def authenticate(self, token: str) -> Grant:
        """Return what a token allows.

        Raises:
            BindingRefused: the token is unknown or revoked.
            AuthorityUnavailable: no answer within the deadline.
        """
        ...

    async def standings(self, grants: Iterable[Grant]) -> Mapping[Grant, Standing]:
        """Say for every grant whether it still holds; one question for all.

        Raises:
            AuthorityUnavailable: no answer within the deadline.
        """
        ...


def standing_of(grant: Grant, binding: Binding | None) -> Standing:
    """Judge a grant by the binding as it is now."""
    if binding is None or binding.revoked_at_ms is not None:
        return Standing.REVOKED
    if binding.authorization_version != grant.authorization_version:
        return Standing.VERSION_CHANGED
    return Standing.VALID
