"""The OneTalk store in the words of the model: records, keys, verbs (docs/store.md).

Every verb takes a connection first, is one transaction unless it says otherwise, and
leaves the same records and gives the same results as the function of the same name in
`extension_harness/extension/store/`: what is undefined there is None here. Records go
in and out as plain dicts of the shapes in `records` and `arguments`.
"""

from __future__ import annotations

from storage_schema.onetalk.acknowledgements import apply_results
from storage_schema.onetalk.buyer_facts import (
    confirm_buyer_facts,
    drop_buyer_facts,
    read_buyer_facts,
    record_buyer_facts,
)
from storage_schema.onetalk.cards import (
    apply_card_results,
    list_pending_cards,
    record_cards,
)
from storage_schema.onetalk.checkpoints import (
    checkpoints_of,
    count_candidates,
    known_accounts,
    read_bootstraps,
    read_checkpoint,
    take_list,
    update_checkpoint,
)
from storage_schema.onetalk.deliveries import (
    next_pending,
    oldest_pending_since,
    pending_conversations,
    still_pending,
)
from storage_schema.onetalk.errors import (
    IndexMissingError,
    OneTalkStoreError,
    ScopeMissingError,
    StoreFullError,
    StoreReadFailedError,
    StoreWriteFailedError,
)
from storage_schema.onetalk.names import ALL_STORES, DATABASE_NAME, DATABASE_VERSION
from storage_schema.onetalk.observations import (
    newest_confirmed_at_ms,
    record_anomaly,
    record_batch,
)
from storage_schema.onetalk.profiles import (
    confirm_profile,
    drop_profile,
    list_pending_profiles,
    observe_profiles,
    settle_profiles,
)
from storage_schema.onetalk.rebuild import rebuild_conversation
from storage_schema.onetalk.reoffers import reoffer, reoffer_ledgers

__all__ = [
    "ALL_STORES",
    "DATABASE_NAME",
    "DATABASE_VERSION",
    "IndexMissingError",
    "OneTalkStoreError",
    "ScopeMissingError",
    "StoreFullError",
    "StoreReadFailedError",
    "StoreWriteFailedError",
    "apply_card_results",
    "apply_results",
    "checkpoints_of",
    "confirm_buyer_facts",
    "confirm_profile",
    "count_candidates",
    "drop_buyer_facts",
    "drop_profile",
    "known_accounts",
    "list_pending_cards",
    "list_pending_profiles",
    "newest_confirmed_at_ms",
    "next_pending",
    "observe_profiles",
    "oldest_pending_since",
    "pending_conversations",
    "read_bootstraps",
    "read_buyer_facts",
    "read_checkpoint",
    "rebuild_conversation",
    "record_anomaly",
    "record_batch",
    "record_buyer_facts",
    "record_cards",
    "reoffer",
    "reoffer_ledgers",
    "settle_profiles",
    "still_pending",
    "take_list",
    "update_checkpoint",
]
