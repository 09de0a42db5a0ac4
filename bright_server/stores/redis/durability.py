"""Proof that an ACK of this server would survive a power cut (MS-15).

It takes a server whose append-only file is synced before each answer, that never evicts
a key, that is a primary and takes a write now, on the configured replicas too. Each
durable exchange is judged so (`confirming`); here is one that changes nothing.
"""

from __future__ import annotations

import secrets
from typing import Final

from bright_server.errors import StoreUnavailable
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.conveyor import Reply
from bright_server.stores.redis.keys import READINESS

_DOING: Final = "prove that it is durable"


async def prove_durable(link: RedisLink) -> None:
    """See that it is a primary, write durably, and read it back.

    Raises:
        StoreUnavailable: what is wrong, and what to do.
    """
    replication = await link.run(_DOING, ("INFO", "replication"), durable=False)
    if b"role:master" not in replication:
        raise StoreUnavailable(
            _DOING, "the server is a replica: give the primary's address"
        )
    said = secrets.token_hex(8)
    await link.run(_DOING, ("SET", READINESS, said))
    found: Reply = await link.run(_DOING, ("GET", READINESS), durable=False)
    # Another server's proof may have come between; then both have been written.
    if not found:
        raise StoreUnavailable(_DOING, "what was written is not there")
