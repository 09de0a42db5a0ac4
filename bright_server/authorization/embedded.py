"""The embedded authority: bindings in this server's own store.

Makes tokens, keeps only their digests, and answers within a deadline or not at all.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bright_server.authorization.contract import (
    Binding,
    BindingLedger,
    Standing,
    standing_of,
)
from bright_server.authorization.tokens import token_digest
from bright_server.errors import AuthorityUnavailable, BindingRefused, MessageStoreError
from bright_server.messages import BindingId, Grant


@dataclass(frozen=True, slots=True)
class IssuedBinding:
    """A new binding with its token: the one time that the token is seen."""

    binding: Binding
    token: str = field(repr=False)


async def issue_binding(
    ledger: BindingLedger, accounts: Sequence[str], label: str, now_ms: int
) -> IssuedBinding:
    """Make a binding for these accounts and keep it."""
    binding = Binding(
        binding_id=BindingId(f"bnd_{secrets.token_hex(8)}"),
        label=label,
        accounts=tuple(dict.fromkeys(accounts)),
        authorization_version=1,
        created_at_ms=now_ms,
        revoked_at_ms=None,
    )
    token = f"brt_{secrets.token_urlsafe(32)}"
    await ledger.add(binding, token_digest(token))
    return IssuedBinding(binding, token)


class EmbeddedAuthority:
    """An `Authority` over a `BindingLedger`, with a deadline in seconds."""

    def __init__(self, ledger: BindingLedger, deadline_seconds: float) -> None:
        self._ledger = ledger
        self._deadline_seconds = deadline_seconds

    async def authenticate(self, token: str) -> Grant:
        """See `Authority.authenticate`."""
        try:
            async with asyncio.timeout(self._deadline_seconds):
                binding = await self._ledger.by_digest(token_digest(token))
        except (TimeoutError, MessageStoreError) as error:
            raise self._unavailable(error) from error
        if binding is None or binding.revoked_at_ms is not None:
            raise BindingRefused
        return Grant(
            binding.binding_id,
            binding.authorization_version,
            frozenset(binding.accounts),
        )

    async def standings(self, grants: Iterable[Grant]) -> Mapping[Grant, Standing]:
        """See `Authority.standings`."""
        asked = set(grants)
        try:
            async with asyncio.timeout(self._deadline_seconds):
                found = await self._ledger.by_ids({each.binding_id for each in asked})
        except (TimeoutError, MessageStoreError) as error:
            raise self._unavailable(error) from error
        return {
            grant: standing_of(grant, found.get(grant.binding_id)) for grant in asked
        }

    def _unavailable(self, error: Exception) -> AuthorityUnavailable:
        reason = (
            f"no answer in {self._deadline_seconds:g} s"
            if isinstance(error, TimeoutError)
            else str(error)
        )
        return AuthorityUnavailable(reason, who="the database that holds the bindings")
