"""Discovery, progress and claims of a group, decided under conversations' locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bright_server.commit.groups import (
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    Outcome,
    Progress,
    ProgressStored,
)
from bright_server.messages import Anchor, ConversationKey
from bright_server.stores.postgresql.connection import Row
from bright_server.stores.postgresql.database import Statement
from bright_server.stores.postgresql.ledgers import columns_of


class ConversationNews:
    """What pages tell of conversations: activity, titles, how far a history is read."""

    def __init__(
        self,
        works: Sequence[tuple[int, Discovery | Progress]],
        refs: Mapping[ConversationKey, int],
    ) -> None:
        self._works = works
        self._refs = refs
        self._discovered: dict[int, tuple[int, str | None]] = {}
        self._progress: dict[int, Row] = {}

    def wanted(self) -> list[Statement]:
        """Return the statements whose rows `judged` needs."""
        refs = {
            self._refs[key]
            for _, work in self._works
            if isinstance(work, Discovery)
            for key in _keys(work)
        }
        return [("find_anchors", (sorted(refs),))] if refs else []

    def judged(self, found: Sequence[Sequence[Row]]) -> dict[int, Outcome]:
        """Return the outcome of each work by its index."""
        rows = found[0] if found else ()
        anchors = {ref: (message, at_ms) for ref, message, _, at_ms in rows}
        outcomes: dict[int, Outcome] = {}
        for index, work in self._works:
            if isinstance(work, Progress):
                self._progressed(work)
                outcomes[index] = ProgressStored()
            else:
                outcomes[index] = self._discover(work, anchors)
        return outcomes

    def writes(self) -> list[Statement]:
        """Return the statements that write what was told."""
        statements: list[Statement] = []
        if self._discovered:
            rows = [(ref, *told) for ref, told in self._discovered.items()]
            statements.append(("discover", columns_of(rows, 3)))
        if self._progress:
            rows = list(self._progress.values())
            statements.append(("store_progress", columns_of(rows, 5)))
        return statements

    def _discover(
        self, work: Discovery, anchors: Mapping[int, tuple[str, int]]
    ) -> DiscoveryStored:
        found: list[Anchor | None] = []
        for key, each in zip(_keys(work), work.conversations, strict=True):
            ref = self._refs[key]
            at_ms, title = self._discovered.get(ref, (0, None))
            # Activity moves forward only; a title that is not told takes none away.
            self._discovered[ref] = (
                max(at_ms, each.latest_message_at_ms),
                title if each.title is None else each.title,
            )
            anchor = anchors.get(ref)
            found.append(Anchor(key, *anchor) if anchor else None)
        return DiscoveryStored(found)

    def _progressed(self, work: Progress) -> None:
        ref = self._refs[work.conversation]
        before = self._progress.get(ref)
        active = [each for each in (work.latest_message_at_ms,) if each is not None]
        if before is not None and before[4] is not None:
            active.append(before[4])
        self._progress[ref] = (
            ref,
            work.next_time_stamp,
            work.history_complete,
            work.page,
            max(active, default=None),
        )


class ClaimJudge:
    """Proves claims by the claimed message alone; an anchor moves forward only."""

    def __init__(
        self,
        claims: Sequence[tuple[int, Claim]],
        refs: Mapping[ConversationKey, int],
        now_ms: int,
    ) -> None:
        self._claims = claims
        self._refs = refs
        self._now_ms = now_ms
        self._anchors: dict[int, tuple[str, int, int]] = {}
        self._moved: set[tuple[int, str]] = set()
        self._active: dict[int, int] = {}

    def wanted(self) -> list[Statement]:
        """Return the statements whose rows `judged` needs, after all batches."""
        pairs = [
            (self._refs[claim.conversation], claim.latest_message_id)
            for _, claim in self._claims
            if claim.conversation in self._refs
        ]
        refs = sorted({ref for ref, _ in pairs})
        return [("find_claimed", columns_of(pairs, 2)), ("find_anchors", (refs,))]

    def judged(self, found: Sequence[Sequence[Row]]) -> dict[int, Outcome]:
        """Return the outcome of each claim by its index."""
        claimed, anchors = found
        sent_at = {(ref, message): at_ms for ref, message, at_ms in claimed}
        self._anchors = {ref: (message, *times) for ref, message, *times in anchors}
        for _, claim in self._claims:
            self._move(claim, sent_at)
        return {index: self._outcome(claim, sent_at) for index, claim in self._claims}

    def writes(self) -> list[Statement]:
        """Return the statements that write what was proven."""
        statements: list[Statement] = []
        moved = [
            (ref, *self._anchors[ref])
            for ref in sorted({ref for ref, _ in self._moved})
        ]
        if moved:
            statements.append(("put_anchors", columns_of(moved, 4)))
        if self._active:
            active = list(self._active.items())
            statements.append(("touch_activity", columns_of(active, 2)))
        return statements

    def _move(self, claim: Claim, sent_at: Mapping[tuple[int, str], int]) -> None:
        ref = self._refs.get(claim.conversation, 0)
        name = claim.latest_message_id
        at_ms = sent_at.get((ref, name))
        if at_ms is None:
            return
        anchor = self._anchors.get(ref)
        # By the claimed message's time, then by its id.
        if anchor is None or (at_ms, name) > (anchor[1], anchor[0]):
            self._anchors[ref] = (name, at_ms, self._now_ms)
            self._moved.add((ref, name))
        told = claim.latest_message_at_ms
        self._active[ref] = max(told, self._active.get(ref, told))

    def _outcome(self, claim: Claim, sent_at: Mapping[tuple[int, str], int]) -> Outcome:
        ref = self._refs.get(claim.conversation, 0)
        name = claim.latest_message_id
        if (ref, name) not in sent_at:
            return ClaimUnproven()
        latest, _, anchored_at_ms = self._anchors[ref]
        return ClaimProven(
            Anchor(claim.conversation, latest, anchored_at_ms),
            moved=(ref, name) in self._moved,
        )


def _keys(work: Discovery) -> list[ConversationKey]:
    account = work.channel_account_id
    return [
        ConversationKey(account, each.conversation_id) for each in work.conversations
    ]
