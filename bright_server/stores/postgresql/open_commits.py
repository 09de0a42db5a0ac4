"""Single commits that a group finds open: finished by it, for it acknowledges them.

Looked for only in conversations that have any, so a group pays nothing for the others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import ObservedBatch
from bright_server.commit.records import CommitIntent, CommitState, OutboxPublication
from bright_server.errors import CommitUnreadable
from bright_server.fanout.contract import LogPosition
from bright_server.logs.postgresql import PARTITION, appending
from bright_server.messages import ConversationKey
from bright_server.stores.group_plan import Stored
from bright_server.stores.observed_commits import observed_of
from bright_server.stores.postgresql.commit_rows import intent_of
from bright_server.stores.postgresql.commit_steps import finishing, recording
from bright_server.stores.postgresql.conversations import Conversation
from bright_server.stores.postgresql.database import Statement, Transaction

logger = logging.getLogger(__name__)


class OpenCommits:
    """Those of a group's scopes that are reserved and not committed."""

    def __init__(
        self, intents: Sequence[tuple[int, CommitIntent]], now_ms: int
    ) -> None:
        self._intents = intents
        self._now_ms = now_ms

    @classmethod
    async def of(
        cls,
        transaction: Transaction,
        batches: Sequence[ObservedBatch],
        conversations: Mapping[ConversationKey, Conversation],
        now_ms: int,
    ) -> Self:
        """Return those of these batches, whose conversations are locked."""
        scopes: set[tuple[int, str]] = set()
        for batch in batches:
            found = conversations[batch.conversation]
            if found.open_commits:
                ids = batch.messages.message_ids
                scopes.update((found.ref, each) for each in ids)
        if not scopes:
            return cls((), now_ms)
        refs = sorted({ref for ref, _ in scopes})
        (rows,) = await transaction.run(("find_open_commits", (refs,)))
        intents = []
        for ref, *row in rows:
            try:
                intent = intent_of(*row)
            except CommitUnreadable as error:
                logger.error("an open commit is left as it is: %s", error)  # noqa: TRY400
                continue
            if (ref, intent.record.message_id) in scopes:
                intents.append((ref, intent))
        return cls(intents, now_ms)

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return bool(self._intents)

    def add_to(self, found: dict[int, dict[str, Stored]]) -> None:
        """Add them to what is there already: their scopes and numbers are taken."""
        for ref, intent in self._intents:
            shown = observed_of(intent.record)
            stored = Stored(intent.coordinates.sequence, shown)
            found.setdefault(ref, {})[shown.message_id] = stored

    async def finished(self, transaction: Transaction) -> list[Statement]:
        """Publish them, and return the statements that finish them.

        The outbox's end is held from here on: what follows is the commit.
        """
        statements: list[Statement] = []
        unpublished = [each for _, each in self._intents if each.publication is None]
        _, *places = await transaction.run(
            ("lock_outbox_end", ()),
            *(appending(envelope_of(intent)) for intent in unpublished),
        )
        published = {
            intent.key: OutboxPublication(LogPosition(PARTITION, rows[0][0]))
            for intent, rows in zip(unpublished, places, strict=True)
        }
        for ref, intent in self._intents:
            if intent.state is CommitState.RESERVED:
                statements += recording(ref, intent)
            publication = intent.publication or published[intent.key]
            statements += finishing(ref, intent, publication, self._now_ms)
        open_before = Counter(ref for ref, _ in self._intents)
        statements += [
            ("end_commits", (done, ref)) for ref, done in sorted(open_before.items())
        ]
        return statements
