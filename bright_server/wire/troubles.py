"""What may be wrong with a page, in stable words (docs/page-trouble.md). No I/O."""

from __future__ import annotations

from typing import Literal

KnownTrouble = Literal[
    "account_unknown",
    "captcha",
    "disconnected",
    "history_silent",
    "login_lost",
    "needs_reload",
    "page_busy",
    "page_dead",
    "page_silent",
    "sdk_missing",
    "still_loading",
]
"""The words of today's extension; a later one may have more."""
