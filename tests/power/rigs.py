"""What runs on a disk whose power is cut: Bright, and the engine of its database."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

from bright_server.authorization.embedded import issue_binding
from bright_server.backends import opened
from bright_server.clock import SystemClock
from bright_server.commit.backend import Backend
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.postgresql import PostgresqlServer
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.processes import BRIGHT, Server, serving

Stored = Mapping[str, Sequence[tuple[int, str]]]
"""Of each conversation the sequence and id of its messages, in order."""

_PAGE = 1_000


class Rig(ABC):
    """Bright on a database, and the database's engine."""

    port: int | None = None
    """Where Bright looks for the engine; None: where it is."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Return the database's address, as `--database` takes it."""

    @abstractmethod
    async def start(self) -> None:
        """Start the engine on what is on the disk."""

    @abstractmethod
    def kill(self) -> None:
        """End the engine by SIGKILL, with all its processes."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""

    def serving(self, **settings: object) -> AbstractAsyncContextManager[Server]:
        """Hold a running `bright serve` on the database."""
        given: dict[str, Any] = settings
        return serving(self.address, **given)

    async def bind(self) -> str:
        """Have the database made, and a binding in it; return the binding's token.

        The engine runs.
        """
        async with self._opened() as backend:
            now_ms = SystemClock().now_ms()
            issued = await issue_binding(backend.bindings, [ACCOUNT], "test", now_ms)
        return issued.token

    async def stored(self, *conversations: str) -> Stored:
        """Return what the database has, read by Bright's own store."""
        async with self._opened() as backend:
            found: dict[str, list[tuple[int, str]]] = {}
            for each in conversations:
                key, places = ConversationKey(ACCOUNT, each), found.setdefault(each, [])
                while True:
                    last = places[-1][0] if places else 0
                    page, _ = await backend.messages.messages_after(key, last, _PAGE)
                    if not page:
                        break
                    places += [(one.sequence, one.message.message_id) for one in page]
        return found

    def _opened(self) -> AbstractAsyncContextManager[Backend]:
        settings = Settings.model_validate({"database": self.address})
        return opened(settings, SystemClock())


class SqliteRig(Rig):
    """Bright on a file, in a folder that it makes itself.

    `command` is started in place of Bright; then it has no process for the writer.
    """

    def __init__(self, disk: Path, command: Sequence[str] = BRIGHT) -> None:
        self._database = disk / "var" / "bright.db"
        self._command = command

    @property
    def address(self) -> str:
        """See `Rig.address`."""
        return str(self._database)

    async def start(self) -> None:
        """There is no engine."""

    def kill(self) -> None:
        """There is no engine."""

    def close(self) -> None:
        """There is no engine."""

    async def bind(self) -> str:
        """See `Rig.bind`; by a server, for it is what makes the folder."""
        async with self.serving():
            return await super().bind()

    def serving(self, **settings: object) -> AbstractAsyncContextManager[Server]:
        """See `Rig.serving`."""
        given = {"writer_process": self._command is BRIGHT, **settings}
        return super().serving(command=self._command, **given)


class PostgresqlRig(Rig):
    """Bright on PostgreSQL; of several engines on the one that can be written.

    They are this rig's own; the first of them is started. `command` is started in place
    of Bright; then it has no process for the writer.
    """

    def __init__(
        self,
        *engines: PostgresqlServer,
        database: str = "bright",
        command: Sequence[str] = BRIGHT,
    ) -> None:
        self.engine = engines[0]
        self.engines = engines
        self._database = database
        self._command = command

    def serving(self, **settings: object) -> AbstractAsyncContextManager[Server]:
        """See `Rig.serving`."""
        given = {"writer_process": self._command is BRIGHT, **settings}
        return super().serving(command=self._command, **given)

    @property
    def address(self) -> str:
        """See `Rig.address`."""
        ports = [self.port] if self.port else [each.port for each in self.engines]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"postgresql://bright@{hosts}/{self._database}"

    async def start(self) -> None:
        """See `Rig.start`; the first time with an empty database."""
        await asyncio.to_thread(self._start)

    def kill(self) -> None:
        """See `Rig.kill`."""
        with suppress(EngineError):
            self.engine.kill()

    def close(self) -> None:
        """See `Rig.close`."""
        for each in self.engines:
            each.close()

    def _start(self) -> None:
        self.engine.start()
        names = self.engine.execute("SELECT datname FROM pg_database")
        if (self._database,) not in names:
            self.engine.create_database(self._database)


class ValkeyRig(Rig):
    """Bright on Valkey, whose append-only file lies on the disk.

    `command` is started in place of Bright; then it has no process for the writer.
    """

    def __init__(
        self,
        disk: Path,
        log: Path,
        options: ValkeyOptions | None = None,
        command: Sequence[str] = BRIGHT,
    ) -> None:
        self.engine = Valkey(disk / "valkey", options, log)
        self._command = command

    def serving(self, **settings: object) -> AbstractAsyncContextManager[Server]:
        """See `Rig.serving`."""
        given = {"writer_process": self._command is BRIGHT, **settings}
        return super().serving(command=self._command, **given)

    @property
    def address(self) -> str:
        """See `Rig.address`."""
        return f"redis://127.0.0.1:{self.port or self.engine.port}/0"

    async def start(self) -> None:
        """See `Rig.start`."""
        await asyncio.to_thread(self.engine.start)

    def kill(self) -> None:
        """See `Rig.kill`; one that lost its disk may have ended by itself."""
        try:
            self.engine.kill()
        except EngineError:
            self.engine.stop()

    def close(self) -> None:
        """See `Rig.close`."""
        self.kill()
