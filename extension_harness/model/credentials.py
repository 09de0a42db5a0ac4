"""Telling credentials apart without keeping them (shared/credentials.js)."""

from __future__ import annotations

_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


def mark_of(endpoint: str | None, binding_token: str) -> str:
    """FNV-1a over the UTF-16 units of both, in eight hexadecimal digits."""
    text = f"{endpoint or ''}\n{binding_token}".encode("utf-16-le", "surrogatepass")
    mark = _FNV_OFFSET
    for unit in memoryview(text).cast("H"):
        mark = ((mark ^ unit) * _FNV_PRIME) & 0xFFFFFFFF
    return f"{mark:08x}"
