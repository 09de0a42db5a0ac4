"""Before 7 → 7: a clean start."""

from __future__ import annotations

from migrations.onetalk.changes import has_own_key
from storage_schema import Connection, Transaction
from storage_schema.onetalk.names import FIRST_FIVE, key_path_of

FROM = 0
TO = 7
WHY = (
    "OT-11: what is older than 7 is cleared, not re-keyed and not filled back, before "
    "any index is made; the next bootstrap collects it anew and runs a full sync. A "
    "store whose key is another than today's cannot hold today's records and is made "
    "anew; whatever indexes these five had go."
)


def change(connection: Connection, transaction: Transaction) -> None:
    """Leaves the five stores there, empty and without an index; touches no other."""
    for name in FIRST_FIVE:
        if name in connection.object_store_names:
            store = transaction.object_store(name)
            if has_own_key(store):
                store.clear()
                for index in store.index_names:
                    store.delete_index(index)
                continue
            connection.delete_object_store(name)
        connection.create_object_store(name, key_path_of(name))
