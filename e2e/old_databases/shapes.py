"""The store's shape at each version, without records."""

from __future__ import annotations

from collections.abc import Mapping

from extension_harness.storage import Index, ObjectStore

NAME = "trade-message-center"
MESSAGES = "onetalk_messages"
CANDIDATES = "onetalk_candidates"
CHECKPOINTS = "onetalk_checkpoints"
ANOMALIES = "onetalk_anomalies"
PROFILES = "onetalk_contact_profiles"
BOOTSTRAPS = "onetalk_conversation_bootstraps"
CARDS = "onetalk_rendered_card_ledger"
BUYER_FACTS = "onetalk_buyer_facts"
FIVE = (MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES, PROFILES)
OURS = (*FIVE, BOOTSTRAPS, CARDS, BUYER_FACTS)

ACCOUNT, CONVERSATION = "channelAccountId", "conversationId"
BY_ACCOUNT = Index("by_account", ACCOUNT)
BY_STATUS = Index("by_account_status", (ACCOUNT, "status"))
BY_CONVERSATION = Index("by_account_conversation", (ACCOUNT, CONVERSATION))

V9_INDEXES: Mapping[str, tuple[Index, ...]] = {
    MESSAGES: (BY_CONVERSATION,),
    CANDIDATES: (
        BY_CONVERSATION,
        Index("by_account_conversation_status", (ACCOUNT, CONVERSATION, "status")),
        BY_STATUS,
    ),
    CHECKPOINTS: (BY_ACCOUNT,),
    ANOMALIES: (BY_CONVERSATION,),
    PROFILES: (
        BY_ACCOUNT,
        Index("by_account_pending_observed_at", (ACCOUNT, "pending.observedAtMs")),
    ),
}
V10_INDEXES: Mapping[str, tuple[Index, ...]] = {
    **V9_INDEXES,
    CARDS: (BY_CONVERSATION, BY_STATUS),
}


def _store(name: str, indexes: Mapping[str, tuple[Index, ...]]) -> ObjectStore:
    path = "candidateKey" if name == CANDIDATES else "key"
    return ObjectStore(name, path, indexes=indexes.get(name, ()))


TODAY: Mapping[str, ObjectStore] = {
    name: _store(name, V10_INDEXES) for name in sorted(OURS)
}
"""OT-10, OT-16: these and no others."""

# Before the keys were scopes: by device, counted, and with indexes under names that
# version 9 gives other key paths. A unique one is among them.
V1 = (
    ObjectStore(MESSAGES, "messageId", indexes=(Index("by_device", "deviceId"),)),
    ObjectStore(CHECKPOINTS, CONVERSATION),
)
V6 = (
    ObjectStore(
        MESSAGES,
        "id",
        auto_increment=True,
        indexes=(Index("by_account_conversation", CONVERSATION),),
    ),
    ObjectStore(
        CANDIDATES,
        "candidateKey",
        indexes=(
            Index("by_account_conversation", ("deviceId", CONVERSATION)),
            Index("by_account_status", "status"),
            Index("by_digest", "digest", unique=True),
        ),
    ),
    ObjectStore(CHECKPOINTS, CONVERSATION, indexes=(Index("by_account", "deviceId"),)),
    ObjectStore(
        ANOMALIES,
        "key",
        indexes=(Index("by_account_conversation", "messageId", unique=True),),
    ),
    ObjectStore(
        PROFILES,
        "key",
        auto_increment=True,
        indexes=(
            Index("by_account_pending_observed_at", "pendingTimes", multi_entry=True),
        ),
    ),
)


def shape_of(version: int) -> tuple[ObjectStore, ...]:
    """Our stores as this version had them; 1, 6, 7, 8 or 9."""
    if version in {1, 6}:
        return V1 if version == 1 else V6
    later = {7: (), 8: (BOOTSTRAPS,), 9: (BOOTSTRAPS, CARDS)}[version]
    indexes = V9_INDEXES if version == 9 else {}
    return tuple(_store(name, indexes) for name in (*FIVE, *later))
