"""The corpus: every conversation and message of the page, made from one seed.

The same arguments always make the same corpus, to the byte. Message ids are 13 digits
and increase with the time of the messages over all conversations, as the page's do.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from extension_harness.page import invalid_rows, people, writing
from extension_harness.page.draft import Draft
from extension_harness.page.errors import CorpusError
from extension_harness.page.messy import ALL_CODES, CATALOGUE, DEFAULT_CODES, Where
from extension_harness.page.truth import Conversation, Message

FIRST_ID = 4_200_000_000_001
NEWEST_MS = 1_764_547_200_000
DEFAULT_ACCOUNT = "2500000000001"


@dataclass(frozen=True)
class Corpus:
    """Conversations, most messages first, and each one's rows, oldest first.

    A row is a valid message or one that cannot be a fact (`Message.fault`).
    """

    seed: int
    account: str
    messy: frozenset[str]
    conversations: tuple[Conversation, ...]
    rows: Mapping[str, tuple[Message, ...]]

    @classmethod
    def generate(
        cls,
        seed: int,
        conversations: int = 200,
        messages: int = 10_000,
        messy: frozenset[str] = DEFAULT_CODES,
        account: str = DEFAULT_ACCOUNT,
    ) -> Corpus:
        """Return the corpus of `seed`, with exactly `messages` distinct valid messages.

        Invalid rows come on top. A corpus too small for every messy input carries as
        many as fit, in the catalogue's order.

        Raises:
            CorpusError: a number is negative, there are messages but no conversation,
                or a code of `messy` does not exist.
        """
        _check(conversations, messages, messy, account)
        # One seed, one corpus: nothing here is a secret.
        rng = random.Random(f"{seed}/{conversations}/{messages}")  # noqa: S311
        chats = people.conversations(rng, conversations, account, messy)
        drafts = writing.write(rng, chats, messages, messy, NEWEST_MS)
        invalid_rows.insert(rng, chats, drafts, messy)
        rows = _numbered(rng, drafts)
        return cls(seed, account, messy, tuple(chats), rows)

    def messages(self) -> list[Message]:
        """Return every valid message, conversation by conversation, oldest first."""
        return [row for rows in self.rows.values() for row in rows if not row.fault]

    def carriers(self, code: str) -> list[str]:
        """Return what carries `code`: message ids, conversation ids, or its place.

        A surface's or a live input is carried by the page itself (`"page"`), as long as
        the code was asked for; a switch's input by nothing until it is switched on.
        """
        if code not in self.messy:
            return []
        found = [c.conversation_id for c in self.conversations if code in c.codes]
        for rows in self.rows.values():
            found += [str(row.number) for row in rows if code in row.codes]
        if CATALOGUE[code].where in (Where.SURFACE, Where.LIVE):
            found.append("page")
        return found


def _check(
    conversations: int, messages: int, messy: frozenset[str], account: str
) -> None:
    if conversations < 0 or messages < 0 or (messages and not conversations):
        raise CorpusError(
            f"no corpus of {messages} messages in {conversations} conversations: both "
            "must be 0 or more, and messages need a conversation"
        )
    if unknown := messy - ALL_CODES:
        raise CorpusError(
            f"unknown messy inputs {sorted(unknown)}; they are M01 to M44"
        )
    if not account.isdecimal():
        raise CorpusError(f"the account must be digits, not {account!r}")


def _numbered(
    rng: random.Random, drafts: Mapping[str, list[Draft]]
) -> dict[str, tuple[Message, ...]]:
    everything = [draft for rows in drafts.values() for draft in rows]
    everything.sort(key=lambda draft: draft.position_ms)
    rows: dict[str, list[Message]] = defaultdict(list)
    number = FIRST_ID
    for draft in everything:
        rows[draft.conversation_id].append(draft.freeze(number))
        number += rng.randrange(1, 400)
    return {key: tuple(rows[key]) for key in drafts}
