"""The ground truth of a run: what there was to see, what was shown, and when.

Every distinct valid message of the page stands here in its normal form, every row that
cannot be one as an anomaly, and every chance to observe as it was really served. The
ledger never reads what an extension or a server says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping

from extension_harness.page.comparing import (
    Row,
    compare_anomalies,
    compare_messages,
)
from extension_harness.page.contacts import LedgerProfile
from extension_harness.page.normal import normal_fields
from extension_harness.page.records import (
    AnomalyComparison,
    Chance,
    Comparison,
    LedgerAnomaly,
    LedgerMessage,
    Scope,
)
from extension_harness.page.surroundings import LedgerCard, buyer_facts
from extension_harness.page.truth import Conversation, Fault, Message


class Ledger:
    """The ledger of one page; safe to read and write from any thread.

    It grows with the corpus and the live messages only: chances are kept per message
    and surface as first, last and count.
    """

    def __init__(self, account: str) -> None:
        self.account = account
        self._lock = threading.RLock()
        self._versions: dict[Scope, list[LedgerMessage]] = {}
        self._optional: set[Scope] = set()
        self._anomalies: dict[tuple[str, str | None, int], LedgerAnomaly] = {}
        self._chances: dict[tuple[str, str, str], Chance] = {}
        self._shown: set[tuple[str, str]] = set()
        self._profiles: dict[str, list[LedgerProfile]] = {}
        self._offered: set[tuple[str, str]] = set()
        self._cards: dict[tuple[str, str], LedgerCard] = {}
        self._facts: dict[str, dict[str, object]] = {}

    def meet(self, chat: Conversation) -> LedgerProfile:
        """Enter a conversation's contact, also again after it changed."""
        with self._lock:
            profile = LedgerProfile.of(chat)
            self._profiles.setdefault(chat.conversation_id, []).append(profile)
        return profile

    def profiles(self) -> dict[str, LedgerProfile]:
        """Return every contact as it is now, by conversation."""
        with self._lock:
            return {key: versions[-1] for key, versions in self._profiles.items()}

    def profile_versions(self, conversation_id: str) -> list[LedgerProfile]:
        """Return every contact that a conversation had, the first one first."""
        with self._lock:
            return list(self._profiles.get(conversation_id, ()))

    def drew(self, row: Message) -> LedgerCard | None:
        """Enter the card that the page draws for a row; None: it draws none."""
        card = LedgerCard.of(row)
        if card is not None:
            with self._lock:
                self._cards[card.conversation_id, card.message_id] = card
        return card

    def cards(self) -> list[LedgerCard]:
        """Return every card that the page drew."""
        with self._lock:
            return list(self._cards.values())

    def told_facts(self, chat: Conversation) -> None:
        """Say that the page heard the facts of this conversation's buyer."""
        with self._lock:
            self._facts[chat.conversation_id] = buyer_facts(chat)

    def facts(self) -> dict[str, dict[str, object]]:
        """Return the facts of buyers that the page heard, by conversation."""
        with self._lock:
            return dict(self._facts)

    def add(self, row: Message) -> LedgerMessage | LedgerAnomaly:
        """Enter one row of the page and return what is expected of it."""
        if row.fault is not None:
            usable = row.fault.value not in ("missing_message_id", "not_an_object")
            return self.add_anomaly(
                LedgerAnomaly(
                    row.fault.value,
                    self.account,
                    None if _names_none(row) else row.conversation_id,
                    row.number,
                    str(row.number) if usable and row.fault != "invalid_id" else None,
                )
            )
        message = LedgerMessage.from_dict(normal_fields(row, self.account))
        with self._lock:
            self._versions.setdefault(message.scope, [message])
        return message

    def add_anomaly(self, anomaly: LedgerAnomaly) -> LedgerAnomaly:
        """Enter an anomaly; entering it again changes only its certainty."""
        with self._lock:
            key = (anomaly.code, anomaly.conversation_id, anomaly.row)
            self._anomalies[key] = anomaly
        return anomaly

    def edited(self, row: Message, *, certain: bool) -> None:
        """Enter the other version of an edited message, and the conflict it makes."""
        message = LedgerMessage.from_dict(normal_fields(row, self.account))
        with self._lock:
            versions = self._versions.setdefault(message.scope, [])
            if message not in versions:
                versions.append(message)
            self.add_anomaly(
                LedgerAnomaly(
                    "conflict",
                    self.account,
                    row.conversation_id,
                    row.number,
                    message.message_id,
                    certain,
                )
            )

    def withdrawn(self, row: Message) -> None:
        """Say that the page does not serve this message any more (recalled, vanished).

        If it was served before, or is on its way to an open page, a store may hold it.
        If not, none can.
        """
        with self._lock:
            scope = (self.account, row.conversation_id, str(row.number))
            key = (row.conversation_id, str(row.number))
            if key in self._shown or key in self._offered:
                self._optional.add(scope)
            else:
                self._versions.pop(scope, None)

    def offered(self, row: Message) -> None:
        """Say that a message is on its way to an open page, which may show it."""
        with self._lock:
            self._offered.add((row.conversation_id, row.message_id))

    def served(self, surface: str, rows: Iterable[Message], at_ms: int) -> None:
        """Record that `surface` really showed these rows."""
        with self._lock:
            for row in rows:
                key = (surface, row.conversation_id, row.message_id)
                self._shown.add(key[1:])
                old = self._chances.get(key)
                self._chances[key] = Chance(
                    surface,
                    row.message_id,
                    row.conversation_id,
                    old.first_at_ms if old else at_ms,
                    at_ms,
                    old.times + 1 if old else 1,
                )

    def was_served(self, conversation_id: str, message_id: str) -> bool:
        """True when any surface showed this message."""
        with self._lock:
            return (conversation_id, message_id) in self._shown

    def expected(self) -> list[LedgerMessage]:
        """Return every message that a complete store holds, in its first version."""
        with self._lock:
            return [
                versions[0]
                for scope, versions in self._versions.items()
                if scope not in self._optional
            ]

    def observable(self) -> list[Chance]:
        """Return the chances to observe that there really were."""
        with self._lock:
            return list(self._chances.values())

    def unserved(self) -> list[LedgerMessage]:
        """Return the expected messages that no surface has shown yet."""
        return [
            message
            for message in self.expected()
            if not self.was_served(message.conversation_id, message.message_id)
        ]

    def anomalies(self) -> list[LedgerAnomaly]:
        """Return the observations that must have become anomalies."""
        with self._lock:
            return list(self._anomalies.values())

    def compare(self, messages: Iterable[Row]) -> Comparison:
        """Hold stored messages against the ledger, record by record."""
        with self._lock:
            versions: Mapping[Scope, list[LedgerMessage]] = {
                scope: list(known) for scope, known in self._versions.items()
            }
            required = frozenset(versions) - self._optional
        return compare_messages(versions, frozenset(required), messages)

    def compare_anomalies(self, rows: Iterable[Row]) -> AnomalyComparison:
        """Hold anomaly records `{code, conversationId, …}` against the ledger."""
        return compare_anomalies(self.anomalies(), rows)

    def as_dict(self) -> dict[str, object]:
        """Return the whole ledger as JSON-ready values."""
        return {
            "account": self.account,
            "messages": [message.as_dict() for message in self.expected()],
            "anomalies": [anomaly.as_dict() for anomaly in self.anomalies()],
            "chances": [
                {
                    "surface": chance.surface,
                    "conversationId": chance.conversation_id,
                    "messageId": chance.message_id,
                    "firstAtMs": chance.first_at_ms,
                    "lastAtMs": chance.last_at_ms,
                    "times": chance.times,
                }
                for chance in self.observable()
            ],
        }

    def as_json(self) -> str:
        """Return the whole ledger as one JSON text."""
        return json.dumps(self.as_dict())


def _names_none(row: Message) -> bool:
    """True when whoever sees the row cannot know whose it is: no list asked for it."""
    return row.fault is Fault.NO_CONVERSATION or (
        row.fault is Fault.NOT_AN_OBJECT and row.live
    )
