"""What the ledger says: expected messages, anomalies, chances, and a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Scope = tuple[str, str, str]
IDENTITY = ("channelAccountId", "conversationId", "messageId")
COMPARED = ("senderId", "direction", "sentAtMs", "kind")
OPTIONAL = ("text", "content", "quote", "recall")


@dataclass(frozen=True, slots=True)
class LedgerMessage:
    """One message in the normal form; fields that it does not have are None."""

    channel_account_id: str
    conversation_id: str
    message_id: str
    sender_id: str
    direction: str
    sent_at_ms: int
    kind: str
    text: str | None = None
    content: Mapping[str, object] | None = None
    quote: Mapping[str, object] | None = None
    recall: Mapping[str, object] | None = None

    @property
    def scope(self) -> Scope:
        """The idempotency scope [OT-01]."""
        return (self.channel_account_id, self.conversation_id, self.message_id)

    def as_dict(self) -> dict[str, object]:
        """Return the normal form under the wire's names, absent fields left out."""
        fields: dict[str, object] = {
            "channelAccountId": self.channel_account_id,
            "conversationId": self.conversation_id,
            "messageId": self.message_id,
            "senderId": self.sender_id,
            "direction": self.direction,
            "sentAtMs": self.sent_at_ms,
            "kind": self.kind,
        }
        for name in OPTIONAL:
            value = getattr(self, name)
            if value is not None:
                fields[name] = value
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> LedgerMessage:
        """Return the record of a normal form that `normal_fields` made."""
        return cls(
            channel_account_id=str(fields["channelAccountId"]),
            conversation_id=str(fields["conversationId"]),
            message_id=str(fields["messageId"]),
            sender_id=str(fields["senderId"]),
            direction=str(fields["direction"]),
            sent_at_ms=int(str(fields["sentAtMs"])),
            kind=str(fields["kind"]),
            **{name: fields.get(name) for name in OPTIONAL},  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True)
class LedgerAnomaly:
    """An observation that must become an anomaly record and never a message fact.

    `row` tells the truth's rows apart (a number that the page need not show).
    `message_id` is the id as far as the row has a usable one. `certain` is false where
    the extension may rightly not have seen it (a conflict needs both versions).
    """

    code: str
    channel_account_id: str
    conversation_id: str | None
    row: int
    message_id: str | None = None
    certain: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return the record with the wire's field names."""
        return {
            "code": self.code,
            "channelAccountId": self.channel_account_id,
            "conversationId": self.conversation_id,
            "row": self.row,
            "messageId": self.message_id,
            "certain": self.certain,
        }


@dataclass(frozen=True, slots=True)
class Chance:
    """A surface really served a message: when first, when last, how often."""

    surface: str
    message_id: str
    conversation_id: str
    first_at_ms: int
    last_at_ms: int
    times: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored message that is not what the ledger says: the fields that differ."""

    scope: Scope
    fields: tuple[str, ...]
    expected: Mapping[str, object]
    stored: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ledger held against a store, record by record."""

    matched: int
    missing: tuple[LedgerMessage, ...]
    unexpected: tuple[Mapping[str, object], ...]
    different: tuple[Difference, ...]
    duplicates: tuple[Scope, ...]

    @property
    def equal(self) -> bool:
        """True when the store holds exactly what the ledger says."""
        return not (
            self.missing or self.unexpected or self.different or self.duplicates
        )

    def as_text(self, limit: int = 5) -> str:
        """Return the result for a human: the counts and the first few of each fault."""
        lines = [
            (
                f"{self.matched} equal, {len(self.missing)} missing, "
                f"{len(self.unexpected)} unexpected, {len(self.different)} different, "
                f"{len(self.duplicates)} duplicates"
            )
        ]
        lines += [f"missing {each.as_dict()}" for each in self.missing[:limit]]
        lines += [f"unexpected {dict(each)}" for each in self.unexpected[:limit]]
        lines += [
            f"different {each.scope} in {', '.join(each.fields)}: "
            f"ledger {each.expected}, store {each.stored}"
            for each in self.different[:limit]
        ]
        lines += [f"duplicate {each}" for each in self.duplicates[:limit]]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class AnomalyComparison:
    """The ledger's anomalies held against the anomaly records of a store."""

    matched: int
    missing: tuple[LedgerAnomaly, ...]
    unexpected: tuple[Mapping[str, object], ...]

    @property
    def equal(self) -> bool:
        """True when every certain anomaly has a record and no record is unexplained."""
        return not (self.missing or self.unexpected)
