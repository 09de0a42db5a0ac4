"""The oracle: ledger, extension's store and Bright's store held together.

It looks at every store, the anomaly ones too, record by record. It is for a system at
rest: nothing pending, every conversation completed. What each store says of itself is
judged by `extension_faults` and `server_faults`.
"""

from __future__ import annotations

from dataclasses import dataclass

from extension_harness.oracle.extension_faults import (
    candidate_faults,
    checkpoint_faults,
    stray_faults,
)
from extension_harness.oracle.profile_faults import profile_faults
from extension_harness.oracle.server_faults import (
    conflict_faults,
    outbox_faults,
    sequence_faults,
)
from extension_harness.oracle.surroundings_faults import surroundings_faults
from extension_harness.page.ledger import Ledger
from extension_harness.page.records import AnomalyComparison, Comparison
from extension_harness.server import StoreDump
from extension_harness.storage import DatabaseDump

DATABASE = "trade-message-center"
"""The extension's one database [OT-10]."""


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
            *candidate_faults(extension, server),
            *checkpoint_faults(extension, server),
            *stray_faults(extension),
            *profile_faults(ledger, extension),
            *surroundings_faults(ledger, extension, server),
            *sequence_faults(server),
            *outbox_faults(server),
            *conflict_faults(ledger, server),
        ),
        conversations=len(checkpoints),
        confirmed=sum(1 for each in candidates if each["status"] == "confirmed"),
    )
