"""7 → 8: conversation bootstraps."""

from __future__ import annotations

from migrations.onetalk.changes import add_store
from storage_schema import Connection, Transaction
from storage_schema.onetalk.names import BOOTSTRAPS

FROM = 7
TO = 8
WHY = (
    "OT-12: what the list said of a conversation outlives the worker. This store "
    "alone is added; it is read by key only, so it has no index. The five stores keep "
    "every record."
)


def change(connection: Connection, transaction: Transaction) -> None:
    """Adds the store of bootstraps."""
    add_store(connection, transaction, BOOTSTRAPS)
