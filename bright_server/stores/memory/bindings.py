"""Bindings in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bright_server.authorization.contract import Binding
from bright_server.messages import BindingId


class MemoryBindings:
    """See `BindingLedger`."""

    def __init__(self) -> None:
        self._bindings: dict[BindingId, Binding] = {}
        self._by_digest: dict[bytes, BindingId] = {}

    async def add(self, binding: Binding, token_digest: bytes) -> None:
        """See `BindingLedger.add`."""
        self._bindings[binding.binding_id] = binding
        self._by_digest[token_digest] = binding.binding_id

    async def all(self) -> list[Binding]:
        """See `BindingLedger.all`."""
        return sorted(
            self._bindings.values(),
            key=lambda each: (each.created_at_ms, each.binding_id),
        )

    async def revoke(self, binding_id: BindingId, now_ms: int) -> Binding | None:
        """See `BindingLedger.revoke`."""
        binding = self._bindings.get(binding_id)
        if binding is None or binding.revoked_at_ms is not None:
            return binding
        revoked = replace(
            binding,
            revoked_at_ms=now_ms,
            authorization_version=binding.authorization_version + 1,
        )
        self._bindings[binding_id] = revoked
        return revoked

    async def by_digest(self, token_digest: bytes) -> Binding | None:
        """See `BindingLedger.by_digest`."""
        binding_id = self._by_digest.get(token_digest)
        return None if binding_id is None else self._bindings[binding_id]

    async def by_ids(
        self, binding_ids: Iterable[BindingId]
    ) -> Mapping[BindingId, Binding]:
        """See `BindingLedger.by_ids`."""
        return self.now_of(binding_ids)

    def now_of(self, binding_ids: Iterable[BindingId]) -> dict[BindingId, Binding]:
        """Return those that exist without waiting, for a group's one atomic step."""
        return {
            each: self._bindings[each] for each in binding_ids if each in self._bindings
        }
