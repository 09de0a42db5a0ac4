"""Settings: every bound of the extension, with its default (shared/settings.js)."""

# The names are those of the stored settings.
# ruff: noqa: N815

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from urllib.parse import urlsplit

from extension_harness.model.backoff import LONGEST_TIMER_MS
from extension_harness.model.steps import Value


@dataclass(frozen=True)
class Settings:
    """Times in ms, sizes in bytes, counts in pieces; names as stored."""

    ackTimeoutMs: float = 10_000
    openTimeoutMs: float = 10_000
    backoffBaseMs: float = 500
    backoffCapMs: float = LONGEST_TIMER_MS
    retryCoolMs: float = 1_000
    maxBufferedBytes: float = 1_048_576
    maxBatchMessages: int = 200
    maxInFlightBatches: int = 8
    idleGraceMs: float = 20_000
    connectWhilePageOpen: bool = True
    historyPaceMs: float = 300
    historyPageSize: int = 50
    historyMaxPageSize: int = 800
    pageTimeoutMs: float = 20_000
    pageAttempts: int = 3
    listRefreshMs: float = 300_000
    sendGapMs: float = 3_000
    sendMaxPerMinute: int = 8
    claimRetryMs: float = 30_000


def settings_from(stored: Value) -> Settings:
    """Defaults, overridden by stored values of the right type."""
    settings = Settings()
    if isinstance(stored, dict):
        names = {field.name for field in fields(Settings)}
        good = {
            name: value
            for name, value in stored.items()
            if name in names and _is_good(value, getattr(settings, name))
        }
        settings = replace(settings, **good)
    return replace(settings, backoffCapMs=min(settings.backoffCapMs, LONGEST_TIMER_MS))


def _is_good(value: Value, default: Value) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    return isinstance(value, int | float) and 0 <= value < float("inf")


def extension_endpoint(typed: str) -> str | None:
    """The WebSocket address for what a person typed; None where it cannot be used."""
    text = typed.strip()
    if text == "":
        return None
    if not re.match(r"[a-z]+://", text, re.IGNORECASE):
        text = f"ws://{text}"
    url = urlsplit(text)
    scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(url.scheme)
    if scheme is None or "@" in url.netloc or url.query or url.fragment:
        return None
    if url.netloc == "":
        return None
    path = re.sub(r"/v1/extension$", "", url.path.rstrip("/"))
    return f"{scheme}://{url.netloc}{path}/v1/extension"
