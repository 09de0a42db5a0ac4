"""Bright as its users run it: a process, a port and a database file.

The server's code is never imported here. Stopped, killed or frozen, it comes back on
the same port and the same file, because that is what a client must live through.
"""

import atexit
import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extension_harness.errors import ServerError
from extension_harness.timeline import Timeline

START_SECONDS = 60.0
STOP_SECONDS = 30.0
COMMAND_SECONDS = 120.0
LOG_TAIL = 4_000
"""Characters of the server's log that an error quotes."""


@dataclass(frozen=True)
class Binding:
    """What ``bright binding create`` gives; the token is kept out of ``repr``."""

    binding_id: str
    token: str
    accounts: tuple[str, ...]
    authorization_version: int

    def __repr__(self) -> str:
        return f"Binding({self.binding_id}, accounts={self.accounts})"


@dataclass(frozen=True)
class StoreDump:
    """What ``bright store dump`` prints: JSON objects by their ``type``."""

    rows: Mapping[str, tuple[Mapping[str, Any], ...]]

    def of(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        """All rows of a type: store, conversation, message, conflict, anchor …."""
        return self.rows.get(kind, ())

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """The stored messages."""
        return self.of("message")


class BrightServer:
    """``bright serve`` on one database; use it as a context manager."""

    def __init__(
        self,
        database: Path | str,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        timeline: Timeline | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        """Hold what starting takes; ``port`` 0 takes a free one and keeps it.

        Args:
            database: The file, made by the server when missing, or an address.
            port: Where to listen, at every start.
            host: The address to listen on.
            arguments: Further ones of ``bright serve``.
            environment: Variables set beside the process's own.
            timeline: Where starts and ends are recorded.
            command: Instead of the installed ``bright``.
        """
        self.database = database
        self.host = host
        self.port = port or _free_port(host)
        self.timeline = timeline or Timeline()
        self._arguments = tuple(arguments)
        self._environment = {**os.environ, **(environment or {})}
        self._command = tuple(command or _installed_command())
        descriptor, name = tempfile.mkstemp(prefix="bright-server-", suffix=".log")
        os.close(descriptor)
        self.log = Path(name)
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self._abandon)

    def __enter__(self) -> "BrightServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where an extension connects."""
        return f"ws://{self.host}:{self.port}/v1/extension"

    @property
    def http_url(self) -> str:
        """The server's root over HTTP."""
        return f"http://{self.host}:{self.port}"

    @property
    def running(self) -> bool:
        """Whether the process is alive (a frozen one is)."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process's number. Raises ServerError when it does not run."""
        if self._process is None:
            raise ServerError("the server does not run; start it first")
        return self._process.pid

    def start(self, timeout: float = START_SECONDS) -> Mapping[str, Any]:
        """Start and wait until it listens; gives its ``listening`` line.

        Raises ServerError with the end of its log when it ends first or is late.
        """
        if self.running:
            raise ServerError(f"the server already runs as process {self.pid}")
        given = [*self._command, "serve", "--database", str(self.database)]
        given += ["--host", self.host, "--port", str(self.port), "--json"]
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                [*given, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
                env=self._environment,
                start_new_session=True,
            )
        told: queue.Queue[Mapping[str, Any] | None] = queue.Queue(1)
        threading.Thread(
            target=_read_output,
            args=(self._process, told, self.log),
            name="bright-server-output",
            daemon=True,
        ).start()
        why = f"did not listen on {self.host}:{self.port} within {timeout:g} s"
        try:
            listening = told.get(timeout=timeout)
        except queue.Empty:
            listening = None
        else:
            why = f"ended before it listened on {self.host}:{self.port}"
        if listening is None:
            self._end(signal.SIGKILL)
            raise ServerError(f"`bright serve` {why}; its log ends: {self.log_tail()}")
        self.timeline.record("server.start", port=self.port, pid=self.pid)
        return listening

    def stop(self, timeout: float = STOP_SECONDS) -> int:
        """SIGTERM, and wait for its end; gives the exit status.

        Raises ServerError, after a SIGKILL, when it takes longer than ``timeout``.
        """
        return self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """SIGKILL, as a crash: nothing is flushed, no close frame is sent."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """SIGTERM and start again on the same port and file."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """SIGSTOP: the connections stay and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)
        self.timeline.record("server.pause")

    def resume(self) -> None:
        """SIGCONT after `pause`."""
        os.kill(self.pid, signal.SIGCONT)
        self.timeline.record("server.resume")

    def close(self) -> None:
        """End the process whatever state it is in, and remove its log."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self.resume()
            with contextlib.suppress(ServerError):
                self.stop()
        atexit.unregister(self._abandon)
        self.log.unlink(missing_ok=True)

    def _abandon(self) -> None:
        """Leave nothing behind when the interpreter ends without `close`."""
        if self.running:
            self.kill()
        self.log.unlink(missing_ok=True)

    def create_binding(self, accounts: Sequence[str]) -> Binding:
        """Make a binding for these accounts; works while the server runs."""
        given = [part for account in accounts for part in ("--account", account)]
        made = json.loads(self.run("binding", "create", *given, "--json"))
        return Binding(
            made["bindingId"],
            made["token"],
            tuple(made["accounts"]),
            made["authorizationVersion"],
        )

    def revoke(self, binding: Binding) -> None:
        """Revoke a binding."""
        self.run("binding", "revoke", binding.binding_id, "--json")

    def dump(self) -> StoreDump:
        """What the store holds now; works while the server runs, or lies dead."""
        rows: dict[str, list[Mapping[str, Any]]] = {}
        for line in self.run("store", "dump").splitlines():
            row = json.loads(line)
            rows.setdefault(row["type"], []).append(row)
        return StoreDump({kind: tuple(found) for kind, found in rows.items()})

    def run(self, *arguments: str) -> str:
        """Run another ``bright`` command on this database; gives what it printed.

        Raises ServerError with what it complained about. Its output is not quoted: it
        may be a token.
        """
        named = [*self._command, *arguments, "--database", str(self.database)]
        what = f"`bright {' '.join(arguments[:2])}`"
        try:
            done = subprocess.run(
                named,
                capture_output=True,
                text=True,
                env=self._environment,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as cause:
            raise ServerError(f"{what} took over {COMMAND_SECONDS:g} s") from cause
        if done.returncode != 0:
            raise ServerError(
                f"{what} ended with status {done.returncode}: {done.stderr[-LOG_TAIL:]}"
            )
        return done.stdout

    def log_tail(self) -> str:
        """The last that the server wrote."""
        with contextlib.suppress(OSError):
            text = self.log.read_text(encoding="utf-8", errors="replace")
            return text[-LOG_TAIL:].strip() or "(empty)"
        return "(no log)"

    def _end(self, how: signal.Signals, timeout: float = STOP_SECONDS) -> int:
        process = self._process
        if process is None:
            raise ServerError("the server does not run; start it first")
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(how)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired as cause:
            process.kill()
            process.wait()
            self._process = None
            raise ServerError(
                f"the server did not end within {timeout:g} s of {how.name} and was "
                f"killed; its log ends: {self.log_tail()}"
            ) from cause
        self._process = None
        self.timeline.record("server.end", signal=how.name, status=status)
        return status


def _installed_command() -> Sequence[str]:
    script = Path(sys.executable).with_name("bright")
    return [str(script)] if script.exists() else [sys.executable, "-m", "bright_server"]


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as taken:
        return int(taken.getsockname()[1])


def _read_output(
    process: "subprocess.Popen[str]",
    told: "queue.Queue[Mapping[str, Any] | None]",
    log: Path,
) -> None:
    """Hand over the ``listening`` line; keep the pipe empty and the rest in the log."""
    listening = False
    with process.stdout or contextlib.nullcontext(()) as lines, log.open("a") as sink:
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                message = json.loads(line)
                if not listening and message["event"] == "listening":
                    listening = True
                    told.put(message)
                    continue
            sink.write(line)
            sink.flush()
    if not listening:
        told.put(None)
