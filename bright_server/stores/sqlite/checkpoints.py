"""Moving the write-ahead log into the database, beside the writer.

Left alone, the writer does this itself every thousand pages, in the middle of a commit:
whoever waits for an ACK waits for it too. A connection of its own does it meanwhile. It
never waits for the writer nor holds it up, so under an unbroken load it may not catch
up; the writer's own checkpoint, far beyond, then bounds the log.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from typing import Final

from bright_server.errors import StoreUnavailable
from bright_server.stores.sqlite.connection import StoreConnection, translated

logger = logging.getLogger(__name__)

ROWS: Final = 10_000
"""After so many rows there is something to move; about two megabytes."""


class Checkpointer:
    """Checkpoints over one connection, which it does not own."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection
        self._rows = 0
        self._under_way: asyncio.Task[None] | None = None

    def wrote(self, rows: int) -> None:
        """Learn that a commit of about so many rows is on disk; returns at once."""
        self._rows += rows
        busy = self._under_way is not None and not self._under_way.done()
        if self._rows >= ROWS and not busy:
            self._rows = 0
            self._under_way = asyncio.create_task(self._move(), name="checkpoint")

    async def close(self) -> None:
        """Wait for a checkpoint that is under way."""
        if self._under_way is not None:
            await self._under_way

    async def _move(self) -> None:
        try:
            with translated("checkpoint"):
                await self._connection.do(_checkpoint)
        except StoreUnavailable as error:
            # Nothing is lost: it is in the log, and moved another time.
            logger.warning("the log was not moved into the database: %s", error)


def _checkpoint(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
