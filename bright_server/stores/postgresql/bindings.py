"""Bindings in the database: a `BindingLedger` that all its servers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from bright_server.authorization.contract import Binding
from bright_server.messages import BindingId
from bright_server.stores.postgresql.connection import Row
from bright_server.stores.postgresql.database import Database
from bright_server.wire.text import compact_json, parse_json

_READING = "read bindings"


class PostgresqlBindings:
    """See `BindingLedger`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, binding: Binding, token_digest: bytes) -> None:
        """See `BindingLedger.add`."""
        row = (
            binding.binding_id,
            token_digest,
            binding.label,
            compact_json(binding.accounts),
            binding.authorization_version,
            binding.created_at_ms,
            binding.revoked_at_ms,
        )
        await self._database.write_at_once("add a binding", ("add_binding", row))

    async def all(self) -> list[Binding]:
        """See `BindingLedger.all`."""
        return [*map(binding_of, await self._database.run(_READING, "all_bindings"))]

    async def revoke(self, binding_id: BindingId, now_ms: int) -> Binding | None:
        """See `BindingLedger.revoke`.

        Groups that were judged before are on disk before this returns.
        """
        await self._database.write_at_once(
            "revoke a binding",
            ("grants_are_changed", ()),
            ("revoke_binding", (now_ms, binding_id)),
        )
        return (await self.by_ids([binding_id])).get(binding_id)

    async def by_digest(self, token_digest: bytes) -> Binding | None:
        """See `BindingLedger.by_digest`."""
        rows = await self._database.run(_READING, "binding_by_digest", token_digest)
        return binding_of(rows[0]) if rows else None

    async def by_ids(
        self, binding_ids: Iterable[BindingId]
    ) -> Mapping[BindingId, Binding]:
        """See `BindingLedger.by_ids`."""
        wanted = list(binding_ids)
        rows = await self._database.run(_READING, "bindings_by_ids", wanted)
        return {each.binding_id: each for each in map(binding_of, rows)}


def binding_of(row: Row) -> Binding:
    """Return the binding of a row."""
    binding_id, label, accounts, version, created_at_ms, revoked_at_ms = row
    return Binding(
        BindingId(binding_id),
        label,
        tuple(cast("list[str]", parse_json(accounts))),
        version,
        created_at_ms,
        revoked_at_ms,
    )
