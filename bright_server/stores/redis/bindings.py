"""Bindings in Redis: all in one slot, so that one is added in one step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from bright_server.authorization.contract import Binding
from bright_server.errors import StoreUnavailable
from bright_server.messages import BindingId
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.keys import BINDINGS, TOKENS
from bright_server.stores.redis.scripts import call
from bright_server.wire.text import compact_json, parse_json

_READING = "read bindings"


class RedisBindings:
    """See `BindingLedger`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def add(self, binding: Binding, token_digest: bytes) -> None:
        """See `BindingLedger.add`."""
        rest = [binding.label, binding.accounts, binding.created_at_ms]
        arguments = (
            binding.binding_id,
            token_digest,
            binding.authorization_version,
            "" if binding.revoked_at_ms is None else binding.revoked_at_ms,
            compact_json(rest),
        )
        doing = "add a binding"
        added = await self._link.run(
            doing, call("add_binding", (BINDINGS, TOKENS), arguments)
        )
        if not added:
            raise StoreUnavailable(doing, "there is one with this id or token")

    async def all(self) -> list[Binding]:
        """See `BindingLedger.all`."""
        found = await self._link.run(_READING, ("HGETALL", BINDINGS), durable=False)
        bindings = [
            binding_of(*pair) for pair in zip(found[::2], found[1::2], strict=True)
        ]
        return sorted(bindings, key=lambda each: (each.created_at_ms, each.binding_id))

    async def revoke(self, binding_id: BindingId, now_ms: int) -> Binding | None:
        """See `BindingLedger.revoke`."""
        kept = await self._link.run(
            "revoke a binding",
            call("revoke_binding", (BINDINGS,), (binding_id, now_ms)),
        )
        return binding_of(binding_id.encode(), kept) if kept else None

    async def by_digest(self, token_digest: bytes) -> Binding | None:
        """See `BindingLedger.by_digest`."""
        found = await self._link.run(
            _READING, ("HGET", TOKENS, token_digest), durable=False
        )
        if found is None:
            return None
        binding_id = BindingId(found.decode())
        return (await self.by_ids([binding_id])).get(binding_id)

    async def by_ids(
        self, binding_ids: Iterable[BindingId]
    ) -> Mapping[BindingId, Binding]:
        """See `BindingLedger.by_ids`."""
        wanted = list(binding_ids)
        if not wanted:
            return {}
        found = await self._link.run(
            _READING, ("HMGET", BINDINGS, *wanted), durable=False
        )
        return bindings_of(wanted, found)


def bindings_of(
    wanted: Sequence[BindingId], found: Sequence[bytes | None]
) -> dict[BindingId, Binding]:
    """Return those that were found, by their ids."""
    return {
        each: binding_of(each.encode(), kept)
        for each, kept in zip(wanted, found, strict=True)
        if kept is not None
    }


def binding_of(binding_id: bytes, kept: bytes) -> Binding:
    """Return a binding as the scripts keep it."""
    version, revoked, rest = kept.decode().split("\n", 2)
    label, accounts, created = cast("list[Any]", parse_json(rest))
    return Binding(
        BindingId(binding_id.decode()),
        label,
        tuple(accounts),
        int(version),
        created,
        int(revoked) if revoked else None,
    )
