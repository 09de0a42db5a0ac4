"""What is recorded of each conversation, before and after one was begun anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extension_harness.rig import CANDIDATES, MESSAGES, Rig

Rows = dict[str, list[Mapping[str, Any]]]


def by_conversation(rig: Rig) -> dict[str, Rows]:
    """What is recorded of each conversation."""
    store = rig.extension_store()
    found: dict[str, Rows] = {}
    for name in (MESSAGES, CANDIDATES):
        for row in store.records(name):
            chat = found.setdefault(row["conversationId"], {})
            chat.setdefault(name, []).append(row)
    return found


def assert_rebuilt(rig: Rig, chat: str, before: dict[str, Rows]) -> None:
    after = by_conversation(rig)
    for other in before.keys() - {chat}:
        assert after[other] == before[other]
    assert ids(after[chat]) == ids(before[chat])
    oldest_new = min(each["observedAtMs"] for each in after[chat][MESSAGES])
    newest_old = max(each["observedAtMs"] for each in before[chat][MESSAGES])
    assert oldest_new > newest_old, "it was not recorded anew"


def ids(rows: Rows) -> set[str]:
    return {each["messageId"] for each in rows[MESSAGES]}
