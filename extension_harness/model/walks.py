"""Which histories have to be walked, and in which order (background/walks.js)."""

from __future__ import annotations

from extension_harness.model.steps import Json
from storage_schema.onetalk import newest_confirmed_at_ms


def walk_order(checkpoint: Json) -> tuple[float, float]:
    """A key to sort by: who failed last stands last, else the latest active first."""
    failed = 0 if checkpoint["result"] is None else checkpoint.get("failedAtMs") or 0
    return failed, -(checkpoint["latestMessageAtMs"] or 0)


def needs_walk(checkpoint: Json) -> bool:
    """Its history is not walked to the end, or something happened since."""
    activity = checkpoint["latestMessageAtMs"] or 0
    if not checkpoint["historyComplete"]:
        scanned = checkpoint["scannedActivityMs"] or 0
        return not is_stuck(checkpoint) or activity > scanned
    if checkpoint.get("isBehind") is True:
        return True
    is_settled = (
        checkpoint["phase"] == "completed"
        or checkpoint["latestMessageId"] is None
        or checkpoint["anchorState"] == "not_found"
    )
    return is_settled and is_beyond(checkpoint)


def is_stuck(checkpoint: Json) -> bool:
    """The page stands still where its history was read last."""
    return bool(checkpoint["result"] == "history_cursor_stuck")


def is_beyond(checkpoint: Json) -> bool:
    """The list tells of something newer than what was scanned or confirmed."""
    confirmed = newest_confirmed_at_ms(checkpoint)  # type: ignore[arg-type]
    covered = max(checkpoint["scannedActivityMs"] or 0, confirmed)
    return bool((checkpoint["latestMessageAtMs"] or 0) > covered)
