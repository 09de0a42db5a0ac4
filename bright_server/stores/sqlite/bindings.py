"""Bindings in the database: the embedded `BindingLedger`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, cast

from bright_server.authorization.contract import Binding
from bright_server.messages import BindingId
from bright_server.stores.sqlite.connection import StoreConnection, translated
from bright_server.stores.sqlite.queries import SQL
from bright_server.wire.text import compact_json, parse_json


class SqliteBindings:
    """A `BindingLedger` over one connection, which it does not own."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    async def add(self, binding: Binding, token_digest: bytes) -> None:
        """See `BindingLedger.add`."""
        await self._run(
            "add_binding",
            (
                binding.binding_id,
                token_digest,
                binding.label,
                compact_json(binding.accounts),
                binding.authorization_version,
                binding.created_at_ms,
                binding.revoked_at_ms,
            ),
        )

    async def all(self) -> list[Binding]:
        """See `BindingLedger.all`."""
        return [_binding(row) for row in await self._run("all_bindings")]

    async def revoke(self, binding_id: BindingId, now_ms: int) -> Binding | None:
        """See `BindingLedger.revoke`."""
        await self._run("revoke_binding", (now_ms, binding_id))
        return (await self.by_ids([binding_id])).get(binding_id)

    async def by_digest(self, token_digest: bytes) -> Binding | None:
        """See `BindingLedger.by_digest`."""
        rows = await self._run("binding_by_digest", (token_digest,))
        return _binding(rows[0]) if rows else None

    async def by_ids(
        self, binding_ids: Iterable[BindingId]
    ) -> Mapping[BindingId, Binding]:
        """See `BindingLedger.by_ids`."""
        wanted = list(binding_ids)
        with translated("read bindings"):
            return await self._connection.do(
                lambda database: bindings_by_ids(database, wanted)
            )

    async def _run(self, query: str, parameters: tuple[object, ...] = ()) -> list[Any]:
        with translated("read or write bindings"):
            return list(await self._connection.execute_fetchall(SQL[query], parameters))


def bindings_by_ids(
    database: sqlite3.Connection, binding_ids: Iterable[BindingId]
) -> dict[BindingId, Binding]:
    """Return those of the bindings that exist, in one statement."""
    wanted = compact_json(list(binding_ids))
    rows = database.execute(SQL["bindings_by_ids"], (wanted,))
    return {binding.binding_id: binding for binding in map(_binding, rows)}


def _binding(row: tuple[str, str, str, int, int, int | None]) -> Binding:
    binding_id, label, accounts, version, created_at_ms, revoked_at_ms = row
    return Binding(
        BindingId(binding_id),
        label,
        tuple(cast("list[str]", parse_json(accounts))),
        version,
        created_at_ms,
        revoked_at_ms,
    )
