"""Several servers that share one database, behind one address."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from extension_harness.load.balancer import Balancer
from extension_harness.server import Binding, BrightServer, StoreDump

_HOST = "127.0.0.1"


class Fleet:
    """As many ``bright serve`` on one database; use it as a context manager.

    Stands where a single server stands: `kill` ends one of them by chance, `start`
    brings back whichever does not run.
    """

    def __init__(self, database: Path | str, servers: int, random: Random) -> None:
        self._servers = [BrightServer(database) for _ in range(servers)]
        self._random = random
        self._balancer = Balancer(_HOST, [each.port for each in self._servers], random)
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            for server in self._servers:
                held.enter_context(server)
            held.enter_context(self._balancer)
            self._held = held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    @property
    def url(self) -> str:
        """Where an extension connects: to any of them."""
        return f"ws://{_HOST}:{self._balancer.port}/v1/extension"

    @property
    def given(self) -> Sequence[int]:
        """How many connections each server was given."""
        return tuple(self._balancer.given.values())

    def kill(self) -> None:
        """SIGKILL to one of them."""
        self._random.choice([each for each in self._servers if each.running]).kill()

    def start(self) -> None:
        """Start again whoever was killed."""
        for server in self._servers:
            if not server.running:
                server.start()

    def create_binding(self, accounts: Sequence[str]) -> Binding:
        """Make a binding for these accounts."""
        return self._servers[0].create_binding(accounts)

    def dump(self) -> StoreDump:
        """What the store holds now."""
        return self._servers[0].dump()
