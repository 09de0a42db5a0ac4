"""Proof that an ACK of this server would survive a power cut (MS-15).

It takes a server whose append-only file is synced before each answer, that never evicts
a key, that is a primary and takes a write now, on the configured replicas too.
"""

from __future__ import annotations

import secrets
from typing import Final

from bright_server.errors import StoreUnavailable
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.conveyor import Reply
from bright_server.stores.redis.keys import READINESS

_DOING: Final = "prove that it is durable"
_SETTINGS: Final = (
    "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory",
    "maxmemory-policy",
)  # fmt: skip


async def prove_durable(link: RedisLink) -> None:
    """Look at the server's settings, write, and read it back.

    Raises:
        StoreUnavailable: what is wrong, and what to do.
    """
    replication, *replies = await link.talk(
        _DOING,
        [("INFO", "replication"), *(("CONFIG", "GET", each) for each in _SETTINGS)],
    )
    if b"role:master" not in replication:
        raise StoreUnavailable(
            _DOING, "the server is a replica: give the primary's address"
        )
    settings = {
        name: reply[1].decode()
        for name, reply in zip(_SETTINGS, replies, strict=True)
        if reply
    }
    fault = _fault(settings)
    if fault:
        raise StoreUnavailable(_DOING, fault)
    await _write_and_read(link)


async def _write_and_read(link: RedisLink) -> None:
    said = secrets.token_hex(8)
    await link.run("write", ("SET", READINESS, said))
    found: Reply = await link.run("read", ("GET", READINESS), durable=False)
    # Another server's proof may have come between; then both have been written.
    if not found:
        raise StoreUnavailable(_DOING, "what was written is not there")


def _fault(settings: dict[str, str]) -> str | None:
    if settings.get("appendonly") != "yes":
        return "the server keeps nothing on disk: set `appendonly yes`"
    if settings.get("appendfsync") != "always":
        return (
            "an answer would not survive a power cut: set `appendfsync always`, it is"
            f" {settings.get('appendfsync')}"
        )
    if settings.get("no-appendfsync-on-rewrite") == "yes":
        return (
            "answers would not survive a power cut while the append-only file is"
            " rewritten: set `no-appendfsync-on-rewrite no`"
        )
    policy = settings.get("maxmemory-policy")
    if settings.get("maxmemory") != "0" and policy != "noeviction":
        return (
            f"the server would throw messages away when its memory is full ({policy}):"
            " set `maxmemory-policy noeviction`"
        )
    return None
