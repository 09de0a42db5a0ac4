"""What is kept of a binding's token, and what a service is told of it. No I/O."""

from __future__ import annotations

import hashlib


def token_digest(token: str) -> bytes:
    """Return what is kept of a token: its SHA-256.

    A token has 256 random bits, so a plain digest cannot be guessed back.
    """
    return hashlib.sha256(token.encode()).digest()
