"""Bright on a SQLite file: the rig that has no engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from bright_server.clock import SystemClock
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.processes import BRIGHT, Server, serving
from tests.power.campaign import Stored


class SqliteRig:
    """Bright on a file, in a folder that it makes itself."""

    def __init__(self, disk: Path, command: Sequence[str] = BRIGHT) -> None:
        self.database = disk / "var" / "bright.db"
        self._command = command

    @property
    def address(self) -> str:
        """See `Rig.address`."""
        return str(self.database)

    async def start(self) -> None:
        """There is no engine."""

    def kill(self) -> None:
        """There is no engine."""

    def serving(self, **settings: object) -> AbstractAsyncContextManager[Server]:
        """See `Rig.serving`."""
        # The careless one knows nothing of a process for the writer.
        given: dict[str, Any] = {"writer_process": self._command is BRIGHT, **settings}
        return serving(self.database, command=self._command, **given)

    async def stored(self, conversations: Sequence[str]) -> Stored:
        """See `Rig.stored`."""
        settings = Settings(database=self.database)
        found = {}
        async with opened(settings, SystemClock()) as store:
            for each in conversations:
                messages, _ = await store.messages.messages_after(
                    ConversationKey(ACCOUNT, each), 0, 1_000_000
                )
                found[each] = [
                    (stored.sequence, stored.message.message_id) for stored in messages
                ]
        return found
