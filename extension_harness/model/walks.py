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
        if not is_stuck(checkpoint) or checkpoint.get("isBehind") is True:
            return True
        return bool(activity > (checkpoint["scannedActivityMs"] or 0))
    if checkpoint.get("isBehind") is True:
        return True
    is_settled = (
        checkpoint["phase"] == "completed"
        or checkpoint["latestMessageId"] is None
        or checkpoint["anchorState"] == "not_found"
    )
    return is_settled and is_beyond(checkpoint)


def begun(before: Json, through_ms: int) -> Json | None:
    """A conversation set up for its walk: where it stood, or a new scan."""
    if not needs_walk(before):
        return None
    scanned = {
        "scannedActivityMs": before["latestMessageAtMs"],
        "scannedThroughMs": through_ms,  # what was said before this is over
    }
    if not before["historyComplete"]:
        # What is newer than a place where all stands still is not found from there.
        if is_stuck(before):
            return {**before, **scanned, "isBehind": False, "nextTimeStamp": None}
        # One that goes on where it stopped covers what it covered when it began.
        return {**before, **scanned} if before["nextTimeStamp"] is None else before
    is_increment = before["anchorMessageId"] is not None
    return {
        **before,
        **scanned,
        "isBehind": False,
        "phase": "paging",
        "syncMode": "incremental" if is_increment else "full",
        "anchorState": "awaiting" if is_increment else "none",
        "anchorSeenAtMs": None,
        "historyComplete": False,
        "nextTimeStamp": None,
        "completionSent": False,
        "result": None,
    }


def is_stuck(checkpoint: Json) -> bool:
    """The page stands still where its history was read last."""
    return bool(checkpoint["result"] == "history_cursor_stuck")


def is_edge_open(checkpoint: Json) -> bool:
    """The newest message's millisecond may not have been over at the last scan."""
    confirmed = newest_confirmed_at_ms(checkpoint)  # type: ignore[arg-type]
    edge_ms = max(checkpoint["latestMessageAtMs"] or 0, confirmed)
    return bool(edge_ms > 0 and edge_ms >= (checkpoint.get("scannedThroughMs") or 0))


def is_beyond(checkpoint: Json) -> bool:
    """The list tells of something newer than what was scanned or confirmed."""
    confirmed = newest_confirmed_at_ms(checkpoint)  # type: ignore[arg-type]
    covered = max(checkpoint["scannedActivityMs"] or 0, confirmed)
    return bool((checkpoint["latestMessageAtMs"] or 0) > covered)
