"""Names of the OneTalk store: the database, its stores, its indexes (OT-10, OT-16)."""

from __future__ import annotations

from typing import Final

DATABASE_NAME: Final = "trade-message-center"
DATABASE_VERSION: Final = 10

MESSAGES: Final = "onetalk_messages"
CANDIDATES: Final = "onetalk_candidates"
CHECKPOINTS: Final = "onetalk_checkpoints"
ANOMALIES: Final = "onetalk_anomalies"
PROFILES: Final = "onetalk_contact_profiles"
BOOTSTRAPS: Final = "onetalk_conversation_bootstraps"
CARDS: Final = "onetalk_rendered_card_ledger"
BUYER_FACTS: Final = "onetalk_buyer_facts"

FIRST_FIVE: Final = (MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES, PROFILES)
"""What a database older than 7 may hold, in the order of clearing (OT-11)."""

ALL_STORES: Final = (*FIRST_FIVE, BOOTSTRAPS, CARDS, BUYER_FACTS)

BY_ACCOUNT: Final = "by_account"
BY_ACCOUNT_STATUS: Final = "by_account_status"
BY_ACCOUNT_CONVERSATION: Final = "by_account_conversation"
BY_ACCOUNT_CONVERSATION_STATUS: Final = "by_account_conversation_status"
BY_ACCOUNT_PENDING_OBSERVED_AT: Final = "by_account_pending_observed_at"


def key_path_of(store: str) -> str:
    """The key path of one of the eight stores: a candidate is named by its own key."""
    return "candidateKey" if store == CANDIDATES else "key"
