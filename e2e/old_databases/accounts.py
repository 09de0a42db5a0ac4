"""Whose records they are: two accounts that have conversations of the same names."""

from __future__ import annotations

from collections.abc import Iterator

ACCOUNTS = ("2500000000001", "2500000000002")
CONVERSATIONS = ("c-1", 'c "2", 会话')
DEVICE = "8c2f9d1e-device"
NEWEST_MS = 1_764_547_200_000


def scopes() -> Iterator[tuple[str, str]]:
    """Each conversation of each account."""
    for account in ACCOUNTS:
        for conversation in CONVERSATIONS:
            yield account, conversation
