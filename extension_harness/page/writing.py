"""Write the messages of each conversation: how many, when, by whom, what they say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from extension_harness.page import bodies, words
from extension_harness.page.draft import Draft
from extension_harness.page.recipes import RECIPES
from extension_harness.page.truth import Conversation

_CLUSTER = 45  # rows in one millisecond: more than a page, fewer than a widened page
_TAIL = 1.1


def write(
    rng: random.Random,
    chats: Sequence[Conversation],
    messages: int,
    messy: frozenset[str],
    newest_ms: int,
) -> dict[str, list[Draft]]:
    """Return the drafts of each conversation, oldest first, `messages` in all."""
    drafts: dict[str, list[Draft]] = {}
    for chat, count in zip(chats, _counts(len(chats), messages), strict=True):
        drafts[chat.conversation_id] = _conversation(rng, chat, count, newest_ms)
    _apply_recipes(rng, drafts, messy)
    if "M05" in messy and chats:
        _cluster(drafts[chats[0].conversation_id])
    return drafts


def _counts(conversations: int, messages: int) -> list[int]:
    """Return a heavy tail: the first has by far the most, every one has some."""
    if not conversations:
        return []
    weights = [1 / (rank + 1) ** _TAIL for rank in range(conversations)]
    base = 1 if messages >= conversations else 0
    spare = messages - base * conversations
    counts = [base + int(spare * weight / sum(weights)) for weight in weights]
    for index in range(messages - sum(counts)):
        counts[index % conversations] += 1
    return counts


def _conversation(
    rng: random.Random, chat: Conversation, count: int, newest_ms: int
) -> list[Draft]:
    moment = newest_ms - int(rng.expovariate(1 / 40_000_000)) - 1_000 * chat.number
    drafts = []
    for _ in range(count):
        moment -= 1 + int(rng.expovariate(1 / 3_000_000))
        outbound = rng.random() < 0.45
        sender = chat.seller_id if outbound else chat.buyer_id
        draft = Draft(chat.conversation_id, moment, sender, outbound)
        _content(rng, draft)
        drafts.append(draft)
    return drafts[::-1]


def _content(rng: random.Random, draft: Draft) -> None:
    share = rng.random()
    if share < 0.60:
        draft.write_text(words.sentence(rng))
    elif share < 0.75:
        draft.write_body(bodies.image(rng))
    elif share < 0.83:
        draft.write_body(bodies.file(rng))
    elif share < 0.95:
        draft.write_body(rng.choice(bodies.CARDS)(rng))
    else:
        draft.kind, draft.page_type = "system", 9999
        draft.text = rng.choice(words.SYSTEM_NOTICES)


def _apply_recipes(
    rng: random.Random, drafts: dict[str, list[Draft]], messy: frozenset[str]
) -> None:
    wanted = [recipe for recipe in RECIPES if recipe[0] in messy]
    slots = [draft for rows in drafts.values() for draft in rows[:-1]]
    chosen = rng.sample(slots, min(len(slots), len(wanted)))
    for (code, recipe), draft in zip(wanted, chosen, strict=False):
        recipe(draft, rng)
        draft.codes.add(code)
        if draft.time_spelling == "seconds":
            _move_to_whole_second(drafts[draft.conversation_id], draft)
    if "M43" in messy:
        _send_twice(drafts)


def _move_to_whole_second(rows: list[Draft], draft: Draft) -> None:
    draft.position_ms -= draft.position_ms % 1000
    rows.sort(key=lambda row: row.position_ms)


def _send_twice(drafts: dict[str, list[Draft]]) -> None:
    """Give the neighbour of the M43 message the same sender and the same words."""
    for rows in drafts.values():
        for draft, after in pairwise(rows):
            if "M43" in draft.codes and not after.codes:
                after.write_text(draft.text or "")
                after.sender_id, after.outbound = draft.sender_id, draft.outbound
                after.codes.add("M43")
                return


def _cluster(rows: list[Draft]) -> None:
    """Put a run of the largest conversation into one millisecond [M05]."""
    size = min(_CLUSTER, len(rows) // 3)
    start = len(rows) // 2
    run = [row for row in rows[start : start + size] if row.time_spelling == "ms"]
    if len(run) < 2:
        return
    for row in run:
        row.position_ms = run[0].position_ms
        row.codes.add("M05")
    rows.sort(key=lambda row: row.position_ms)
