"""Completion claims and anchors (OT-43, OT-50, OT-51; background/claims.js).

A claim is sent when a conversation's history is at its end and everything valid is
confirmed; only an anchor that matches it exactly completes the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from extension_harness.model.connection import Connection
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json
from extension_harness.model.store import (
    CheckpointPages,
    claimable,
    complete,
    is_unknown,
    read_checkpoints,
    reoffer,
    reoffer_ledgers,
    update_checkpoint,
    verb,
)
from extension_harness.model.tasks import Life
from storage_schema.onetalk import read_bootstraps
from storage_schema.onetalk.keys import conversation_key

DISCOVERY_CHUNK = 200


@dataclass(frozen=True)
class _Sent:
    latest_message_id: str
    sent_at_ms: float


@dataclass(frozen=True)
class _Unanswered:
    account: str
    conversation: str
    due_ms: float


@dataclass(frozen=True)
class ClaimEvents:
    """Who is told of what."""

    reoffered: Callable[[str, str], None]
    behind: Callable[[str], None]
    completed: Callable[[Json], None]
    failed: Callable[[Exception], object]


class Claims:
    """What was claimed on this connection, and what its anchors complete."""

    def __init__(
        self,
        life: Life,
        connection: Connection,
        settings: Callable[[], Settings],
        events: ClaimEvents,
    ) -> None:
        self._life = life
        self._connection = connection
        self._settings = settings
        self._events = events
        self._sent: dict[str, _Sent] = {}
        self._unanswered: dict[str, _Unanswered] = {}
        self._timer: int | None = None
        self._offered: set[str] = set()
        self._behind: set[str] = set()

    def reset(self) -> None:
        """A new connection: nothing was claimed on it yet."""
        self.halt()
        self._sent.clear()
        self._offered.clear()
        self._behind.clear()

    def halt(self) -> None:
        """The connection is gone: nothing is said again on it."""
        self._life.cancel(self._timer)
        self._timer = None
        self._unanswered.clear()

    def consider(self, account: str, conversation: str) -> Behaviour[None]:
        """Claims one conversation when it may be claimed."""
        if account not in self._connection.accounts:
            return
        checkpoint: Json | None = yield from verb(
            "claimable", claimable, account, conversation
        )
        if checkpoint is None:
            return
        latest = checkpoint["latestMessageId"]
        if latest is None:
            # Nothing valid is in it, so there is nothing to anchor.
            yield from update_checkpoint(account, conversation, _ended_empty)
            return
        key, now = checkpoint["key"], self._life.steady()
        before = self._sent.get(key)
        is_same = before is not None and before.latest_message_id == latest
        if before is not None and is_same:
            age = now - before.sent_at_ms
            if age < self._settings().claimRetryMs:
                return
        is_sent = self._connection.send(
            {
                "type": "sync.complete",
                "channelAccountId": account,
                "conversationId": conversation,
                "latestMessageId": latest,
                "latestMessageAtMs": checkpoint["latestMessageAtMs"] or 0,
            }
        )
        if not is_sent:
            return
        self._sent[key] = _Sent(latest, now)
        self._await_answer(key, account, conversation)
        # Only this is saved: the phase stays until the anchor comes (OT-50).
        yield from update_checkpoint(
            account, conversation, lambda seen: _claimed(seen, latest)
        )

    def _await_answer(self, key: str, account: str, conversation: str) -> None:
        due_ms = self._life.steady() + self._settings().claimRetryMs
        self._unanswered.pop(key, None)  # so that it stands last
        self._unanswered[key] = _Unanswered(account, conversation, due_ms)
        self._watch()

    def _watch(self) -> None:
        """One timer for all of them: that of the claim that was said first."""
        first = next(iter(self._unanswered.values()), None)
        if first is None or self._timer is not None:
            return
        left_ms = max(0, first.due_ms - self._life.steady())
        self._timer = self._life.after(self._time_is_up, left_ms)

    def _time_is_up(self) -> None:
        self._timer = None
        again = self._say_again()
        self._life.spawn("claim again", again, failed=self._events.failed)

    def _say_again(self) -> Behaviour[None]:
        """Nobody has answered: said again where it may still be said (OT-50, OT-51)."""
        now_ms = self._life.steady()
        due = {k: one for k, one in self._unanswered.items() if one.due_ms <= now_ms}
        for key in due:
            del self._unanswered[key]
        self._watch()
        for one in due.values():
            yield from self.consider(one.account, one.conversation)

    def consider_all(self, accounts: Iterable[str]) -> Behaviour[None]:
        """Claims again what has no anchor yet, over all conversations (OT-51)."""
        for account in accounts:
            pages = CheckpointPages(account)
            while page := (yield from pages.next()):
                for checkpoint in page:
                    is_uploading = checkpoint["phase"] == "uploading"
                    if is_uploading and checkpoint["historyComplete"]:
                        yield from self.consider(account, checkpoint["conversationId"])

    def anchored(self, anchors: Sequence[Json]) -> Behaviour[None]:
        """Takes anchors: the only evidence that a conversation is complete (OT-50)."""
        for anchor in anchors:
            account, conversation = anchor["channelAccountId"], anchor["conversationId"]
            latest = anchor["latestMessageId"]
            key = conversation_key(account, conversation)
            claimed = self._sent.get(key)
            is_answer = claimed is not None and claimed.latest_message_id == latest
            if is_answer:
                del self._sent[key]
                self._unanswered.pop(key, None)
            checkpoint: Json | None = yield from verb(
                "complete", complete, account, conversation, latest
            )
            if checkpoint is not None:
                self._events.completed(checkpoint)
            elif is_answer:
                yield from self.consider(account, conversation)
            elif claimed is not None:
                yield from self._fall_behind(account, conversation, latest)

    def _fall_behind(
        self, account: str, conversation: str, latest: str
    ) -> Behaviour[bool]:
        """Another device has proven a message that this one has never seen."""
        key = conversation_key(account, conversation)
        unknown = yield from verb(
            "isUnknown", is_unknown, account, conversation, latest
        )
        if not unknown:
            return False
        if key in self._behind:
            return True
        marked = yield from update_checkpoint(
            account,
            conversation,
            lambda seen: (
                {**seen, "isBehind": True} if seen["historyComplete"] else None
            ),
        )
        self._behind.add(key)
        if marked is not None:
            self._events.behind(account)
        return True

    def compare(self, account: str, known: Sequence[Json]) -> Behaviour[None]:
        """Takes what Bright knows of discovered conversations."""
        scopes = [(account, one["conversationId"]) for one in known]
        checkpoints = yield from verb("Claims.compare", read_checkpoints, scopes)
        for one, checkpoint in zip(known, checkpoints, strict=True):
            if checkpoint is None or checkpoint["phase"] != "completed":
                continue
            anchor = one["anchor"] and one["anchor"]["latestMessageId"]
            if anchor == checkpoint["latestMessageId"]:
                continue
            conversation = checkpoint["conversationId"]
            is_behind = False
            if anchor is not None:
                is_behind = yield from self._fall_behind(account, conversation, anchor)
            if not is_behind:
                yield from self.offer_again(account, conversation)

    def offer_again(self, account: str, conversation: str) -> Behaviour[None]:
        """Sends a conversation's facts again, once on a connection."""
        key = conversation_key(account, conversation)
        if key in self._offered:
            return
        self._sent.pop(key, None)
        yield from reoffer(account, conversation)
        yield from reoffer_ledgers(account, conversation)
        self._offered.add(key)
        self._events.reoffered(account, conversation)

    def discover_all(self, account: str, asked: dict[str, str]) -> Behaviour[None]:
        """Tells Bright every conversation of an account, in bounded frames (OT-51)."""
        pages = CheckpointPages(account)
        while page := (yield from pages.next()):
            keys = [checkpoint["key"] for checkpoint in page]
            listed = yield from verb("readBootstraps", read_bootstraps, keys)
            conversations = []
            for checkpoint, bootstrap in zip(page, listed, strict=True):
                title = bootstrap.get("title") if bootstrap else None
                conversations.append({**checkpoint, "title": title})
            self.discover(account, conversations, asked)

    def discover(
        self, account: str, conversations: Sequence[Json], asked: dict[str, str]
    ) -> None:
        """Tells Bright these; `asked` gets the account of each request id."""
        for start in range(0, len(conversations), DISCOVERY_CHUNK):
            request_id = self._connection.next_request_id()
            chunk = conversations[start : start + DISCOVERY_CHUNK]
            is_sent = self._connection.send(
                {
                    "type": "conversation.discovered",
                    "requestId": request_id,
                    "channelAccountId": account,
                    "conversations": [_discovered(one) for one in chunk],
                }
            )
            if is_sent:
                asked[request_id] = account


def _discovered(one: Json) -> Json:
    told = {
        "conversationId": one["conversationId"],
        "latestMessageAtMs": one["latestMessageAtMs"] or 0,
    }
    title = one.get("title")
    return told if title is None else {**told, "title": title}


def _ended_empty(seen: Json) -> Json | None:
    if seen["latestMessageId"] is None and seen["result"] is None:
        return {**seen, "result": "no_valid_messages"}
    return None


def _claimed(seen: Json, latest: str) -> Json | None:
    if seen["latestMessageId"] == latest and seen["phase"] == "uploading":
        return {**seen, "completionSent": True}
    return None
