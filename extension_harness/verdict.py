"""The oracle: ledger, extension's store and Bright's store held together.

It looks at every store, the anomaly ones too, record by record. It is for a system at
rest: nothing pending, every conversation completed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from extension_harness.page.ledger import Ledger
from extension_harness.page.records import AnomalyComparison, Comparison
from extension_harness.server import StoreDump
from extension_harness.storage import DatabaseDump

DATABASE = "trade-message-center"
"""The extension's one database [OT-10]."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What the three say of each other; ``holds`` only if they agree in everything."""

    server: Comparison
    extension: Comparison
    anomalies: AnomalyComparison
    faults: tuple[str, ...]
    """Faults beside missing, different and doubled records, each in words."""
    conversations: int
    confirmed: int

    @property
    def holds(self) -> bool:
        """True when nothing is lost, doubled, different, early or left over."""
        return (
            self.server.equal
            and self.extension.equal
            and self.anomalies.equal
            and not self.faults
        )

    def as_text(self, limit: int = 8) -> str:
        """The verdict for a human, the first few of each kind of fault."""
        lines = [
            f"Bright: {self.server.as_text(limit)}",
            f"extension: {self.extension.as_text(limit)}",
            (
                f"anomalies: {self.anomalies.matched} as expected, "
                f"{len(self.anomalies.missing)} missing, "
                f"{len(self.anomalies.unexpected)} unexpected"
            ),
        ]
        lines += [
            f"  missing {each.as_dict()}" for each in self.anomalies.missing[:limit]
        ]
        lines += [f"  unexpected {each}" for each in self.anomalies.unexpected[:limit]]
        lines += self.faults[:limit]
        if len(self.faults) > limit:
            lines.append(f"… and {len(self.faults) - limit} more faults")
        return "\n".join(lines)


def judge(ledger: Ledger, server: StoreDump, extension: DatabaseDump) -> Verdict:
    """Hold the ledger, Bright's store and the extension's store against each other."""
    candidates = extension.records("onetalk_candidates")
    checkpoints = extension.records("onetalk_checkpoints")
    return Verdict(
        server=ledger.compare(server.messages),
        extension=ledger.compare(extension.records("onetalk_messages")),
        anomalies=ledger.compare_anomalies(extension.records("onetalk_anomalies")),
        faults=(
            *_candidate_faults(candidates, extension.records("onetalk_messages")),
            *_checkpoint_faults(checkpoints, server),
            *sequence_faults(server),
            *outbox_faults(server),
        ),
        conversations=len(checkpoints),
        confirmed=sum(1 for each in candidates if each["status"] == "confirmed"),
    )


def sequence_faults(server: StoreDump) -> Iterator[str]:
    """Sequences are 1, 2, 3 … in each conversation: a repeat takes none [MS-20]."""
    by_conversation: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in server.messages:
        by_conversation[_conversation(row)].append(row["sequence"])
    for conversation, numbers in by_conversation.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield f"sequences of {conversation} have a gap or a double"


def outbox_faults(server: StoreDump) -> Iterator[str]:
    """Each message has exactly one outbox row; positions have no gap."""
    rows = server.of("outbox")
    positions = sorted(row["position"] for row in rows)
    if positions != list(range(1, len(positions) + 1)):
        yield "outbox positions have a gap or a double"
    published = Counter(_scope(row) for row in rows)
    stored = {_scope(row) for row in server.messages}
    yield from (f"published twice: {each}" for each, n in published.items() if n > 1)
    yield from (f"published, not stored: {each}" for each in published.keys() - stored)
    yield from (f"stored, not published: {each}" for each in stored - published.keys())


def _candidate_faults(
    candidates: Iterable[Row], messages: Iterable[Row]
) -> Iterator[str]:
    """One candidate for each message, and each one confirmed [OT-06, OT-42]."""
    known = Counter(_scope(each) for each in candidates)
    facts = {_scope(each) for each in messages}
    yield from (f"fact without a candidate: {each}" for each in facts - known.keys())
    yield from (f"candidate without a fact: {each}" for each in known.keys() - facts)
    yield from (f"two candidates: {each}" for each, n in known.items() if n > 1)
    for each in candidates:
        if each["status"] != "confirmed":
            yield f"not confirmed but {each['status']}: {_scope(each)}"


def _checkpoint_faults(checkpoints: Iterable[Row], server: StoreDump) -> Iterator[str]:
    """Each conversation is completed, on the anchor that Bright has proven [OT-50]."""
    anchors = {
        _conversation(row): row["latestMessageId"] for row in server.of("anchor")
    }
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    for row in server.messages:
        order = (row["sentAtMs"], row["messageId"])
        key = _conversation(row)
        newest[key] = max(newest.get(key, order), order)
    for each in checkpoints:
        where = _conversation(each)
        if each["phase"] != "completed":
            yield f"{where} is {each['phase']}, not completed: {each.get('result')}"
        elif where in newest and anchors.get(where) != newest[where][1]:
            yield (
                f"{where} is anchored at {anchors.get(where)}, "
                f"its newest message is {newest[where][1]}"
            )
        elif where in newest and each["anchorMessageId"] != anchors.get(where):
            yield f"{where}: the extension's anchor is {each['anchorMessageId']}"
    yield from (
        f"{key} was never synced"
        for key in newest.keys() - {_conversation(each) for each in checkpoints}
    )


def _scope(row: Row) -> tuple[str, str, str]:
    return (row["channelAccountId"], row["conversationId"], row["messageId"])


def _conversation(row: Row) -> tuple[str, str]:
    return (row["channelAccountId"], row["conversationId"])
