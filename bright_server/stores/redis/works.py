"""What a group of work asks of the server, and what its replies mean. No I/O.

Each piece of work becomes runs of scripts, all of its conversation's keys in one slot.
A script decides with what is there at that very moment: several servers that write one
conversation neither split its sequence nor undo each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

from bright_server.commit.groups import (
    BatchCommitted,
    BuyerFacts,
    CardsStored,
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    FactsStored,
    NotStored,
    ObservedBatch,
    ObservedProfiles,
    Outcome,
    Probe,
    ProbeStored,
    ProfilesStored,
    Progress,
    ProgressStored,
    RenderedCards,
    Work,
)
from bright_server.messages import Anchor, ConversationKey
from bright_server.stores.redis.keys import PROBE, ConversationKeys, Layout
from bright_server.stores.redis.members import exact, of_batch
from bright_server.stores.redis.scripts import Call, call
from bright_server.wire.text import compact_json

Asked: TypeAlias = Call | tuple[str | bytes | int, ...]
Replies: TypeAlias = Sequence[Any]


class Works:
    """Turns work into commands, and replies into outcomes, at one moment's time."""

    def __init__(self, layout: Layout, now_ms: int) -> None:
        self._layout = layout
        self._now_ms = now_ms

    def asked(self, work: Work) -> list[Asked]:
        """Return the commands that do a piece of work.

        Raises:
            UnicodeEncodeError: a text cannot be kept.
            OverflowError: a number cannot be kept.
        """
        match work:
            case ObservedBatch():
                asked: list[Asked] = [self._batch(work)]
            case Claim():
                asked = [self._claim(work)]
            case Discovery():
                asked = self._discovery(work)
            case Progress():
                asked = [self._progress(work)]
            case ObservedProfiles():
                asked = self._profiles(work)
            case RenderedCards():
                asked = [self._cards(work)]
            case BuyerFacts():
                asked = [self._facts(work)]
            case Probe():
                asked = [call("probe", (PROBE,), (exact(work.value),))]
        for each in asked:
            _refuse_unstorable(each)
        return asked

    def outcome(self, work: Work, replies: Replies) -> Outcome:
        """Return what became of a piece of work, from a reply to each command."""
        match work:
            case ObservedBatch():
                return _committed(len(work.messages), replies[0])
            case Claim():
                return _claimed(work, replies[0])
            case Discovery():
                return DiscoveryStored(_anchors(work, replies))
            case Progress():
                return ProgressStored()
            case ObservedProfiles():
                taken = frozenset(i for i, won in enumerate(replies) if won)
                return ProfilesStored(taken)
            case RenderedCards():
                return _cards_stored(replies[0])
            case BuyerFacts():
                return FactsStored(taken=bool(replies[0]))
            case Probe():
                return ProbeStored()

    def _batch(self, work: ObservedBatch) -> Call:
        keys, named = self._named(work.conversation)
        said: list[str | bytes | int] = []
        for index in range(len(work.messages)):
            said += of_batch(work.messages[index])
        return call(
            "batch",
            (
                keys.facts, keys.ids, keys.history, keys.open, keys.conflicts,
                keys.shard.log, keys.shard.log_last, keys.shard.conversations,
            ),
            (
                *named, work.received_at_ms, self._now_ms, *said,
            ),
        )  # fmt: skip

    def _claim(self, work: Claim) -> Call:
        keys, _ = self._named(work.conversation)
        return call(
            "claim_anchor",
            (keys.facts, keys.ids, keys.history, keys.open),
            (work.latest_message_id, self._now_ms, exact(work.latest_message_at_ms)),
        )

    def _discovery(self, work: Discovery) -> list[Asked]:
        asked: list[Asked] = []
        for each in work.conversations:
            key = ConversationKey(work.channel_account_id, each.conversation_id)
            keys, named = self._named(key)
            title = () if each.title is None else (each.title,)
            arguments = (*named, exact(each.latest_message_at_ms), *title)
            asked.append(
                call("discover", (keys.facts, keys.shard.conversations), arguments)
            )
        return asked

    def _progress(self, work: Progress) -> Call:
        keys, named = self._named(work.conversation)
        latest = work.latest_message_at_ms
        return call(
            "progress",
            (keys.facts, keys.shard.conversations),
            (
                *named, work.next_time_stamp, int(work.history_complete), work.page,
                *(() if latest is None else (exact(latest),)),
            ),
        )  # fmt: skip

    def _profiles(self, work: ObservedProfiles) -> list[Asked]:
        asked: list[Asked] = []
        for each in work.profiles:
            key = ConversationKey(work.channel_account_id, each.conversation_id)
            keys, named = self._named(key)
            said: list[str | int] = [
                "profile", each.profile, "fingerprint", each.fingerprint,
                "committedAtMs", self._now_ms, "bindingId", work.grant.binding_id,
            ]  # fmt: skip
            if each.ali_id is not None:
                said += ["aliId", each.ali_id]
            asked.append(
                call(
                    "newest",
                    (keys.profile, keys.facts, keys.shard.conversations),
                    (*named, exact(each.observed_at_ms), *said),
                )
            )
        return asked

    def _facts(self, work: BuyerFacts) -> Call:
        keys, named = self._named(work.conversation)
        return call(
            "newest",
            (keys.buyer, keys.facts, keys.shard.conversations),
            (
                *named, exact(work.facts.observed_at_ms), "facts", work.facts.facts,
                "fingerprint", work.facts.fingerprint, "committedAtMs", self._now_ms,
                "bindingId", work.grant.binding_id,
            ),
        )  # fmt: skip

    def _cards(self, work: RenderedCards) -> Call:
        keys, named = self._named(work.conversation)
        cards = (
            (compact_json([each.message_id, each.card_kind]), each.content)
            for each in work.cards
        )
        return call(
            "cards",
            (keys.cards, keys.card_conflicts, keys.facts, keys.shard.conversations),
            (
                *named, self._now_ms, work.grant.binding_id,
                *chain.from_iterable(cards),
            ),
        )  # fmt: skip

    def _named(
        self, key: ConversationKey
    ) -> tuple[ConversationKeys, tuple[str, str, str]]:
        keys = self._layout.conversation(key)
        return keys, (key.channel_account_id, key.conversation_id, keys.ref)


def _refuse_unstorable(asked: Asked) -> None:
    words = asked.arguments if isinstance(asked, Call) else asked
    for word in words:
        if isinstance(word, str) and not word.isascii():
            word.encode()


def _committed(size: int, reply: Sequence[Any]) -> BatchCommitted | NotStored:
    if not reply:
        return NotStored("a message of it is being committed by itself: try again")
    first, new, others = reply
    if new == size:
        return BatchCommitted(range(first, first + size))
    known = {
        index: (sequence, kind)
        for index, sequence, kind in zip(
            others[::3], others[1::3], others[2::3], strict=True
        )
    }
    fresh = iter(range(first, first + new))
    return BatchCommitted(
        [known[i][0] if i in known else next(fresh) for i in range(size)],
        frozenset(i for i, (_, kind) in known.items() if kind == 1),
        frozenset(i for i, (_, kind) in known.items() if kind == 2),
    )


def _claimed(work: Claim, reply: Sequence[Any]) -> ClaimProven | ClaimUnproven:
    if not reply:
        return ClaimUnproven()
    latest, anchored, moved = reply
    anchor = Anchor(work.conversation, latest.decode(), int(anchored))
    return ClaimProven(anchor, moved=bool(moved))


def _anchors(work: Discovery, replies: Replies) -> list[Anchor | None]:
    return [
        Anchor(
            ConversationKey(work.channel_account_id, each.conversation_id),
            latest.decode(),
            int(anchored),
        )
        if latest
        else None
        for each, (latest, anchored) in zip(work.conversations, replies, strict=True)
    ]


def _cards_stored(told: Sequence[int]) -> CardsStored:
    return CardsStored(
        len(told),
        frozenset(place for place, kind in enumerate(told) if kind == 1),
        frozenset(place for place, kind in enumerate(told) if kind == 2),
    )
