"""Reading a history again, on somebody's word (background/rereading.js, OT-20)."""

from __future__ import annotations

from extension_harness.model.steps import Behaviour, Json, Value
from extension_harness.model.store import update_checkpoint, verb
from extension_harness.model.walks import is_stuck
from storage_schema.onetalk import (
    read_bootstraps,
    read_checkpoint,
    rebuild_conversation,
    take_list,
)
from storage_schema.onetalk.keys import conversation_key


def mark_for_reading(account: str, conversation: str, now_ms: int) -> Behaviour[bool]:
    """Marks a history as one to be read again; False where it is not known here."""
    marked = yield from update_checkpoint(account, conversation, _marked)
    if marked is not None:
        return True
    listed = yield from _listed_as(account, conversation)
    if listed is None:
        return False
    yield from verb("takeList", take_list, account, [listed], now_ms)
    return True


def rebuild(account: str, conversation: str, now_ms: int) -> Behaviour[Json | None]:
    """Forgets what was recorded and meets it anew; None where it is not known here."""
    known = yield from verb("readCheckpoint", read_checkpoint, account, conversation)
    listed = yield from _listed_as(account, conversation)
    if known is None and listed is None:
        return None
    gone: Json = yield from verb(
        "rebuildConversation", rebuild_conversation, account, conversation
    )
    anew = listed or {"conversationId": conversation, "latestMessageAtMs": None}
    yield from verb("takeList", take_list, account, [anew], now_ms)
    return gone


def _marked(seen: Json) -> Json:
    return {
        **seen,
        # One whose walk has not begun begins at the newest in any case.
        "isBehind": seen["historyComplete"] or seen["pages"] > 0,
        "result": None if is_stuck(seen) else seen["result"],
    }


def _listed_as(account: str, conversation: str) -> Behaviour[Json | None]:
    found: Value = yield from verb(
        "readBootstraps", read_bootstraps, [conversation_key(account, conversation)]
    )
    if found[0] is None:
        return None
    listed = {
        "conversationId": conversation,
        "latestMessageAtMs": found[0].get("latestMessageAtMs"),
    }
    if "title" in found[0]:
        listed["title"] = found[0]["title"]
    return listed
