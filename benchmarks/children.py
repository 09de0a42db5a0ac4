"""The processes of a run, each an interpreter of its own: none takes another's time.

A child gets one JSON object on its standard input, says one line of JSON when it is
ready, and then one line for each line that it is sent. Whatever a child should not
have done ends the run with an error that carries the tail of the child's complaints.
"""

import json
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import psutil

from benchmarks.errors import ChildError
from benchmarks.quiet import MachineTime

_TAIL_BYTES = 2_000


def module(name: str) -> list[str]:
    """The command that runs a module of this repository with this interpreter."""
    return [sys.executable, "-m", name]


class Child:
    """A running child; as a context manager it is ended on leaving.

    Args:
        command: the program and its arguments.
        config: written to standard input as one line of JSON; None writes nothing.
        log: a directory for what the child says on standard error.
    """

    def __init__(
        self, command: Sequence[str], config: Mapping[str, Any] | None, log: Path
    ) -> None:
        with tempfile.NamedTemporaryFile(
            dir=log, suffix=".log", delete=False
        ) as errors:
            self._errors = Path(errors.name)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._name = " ".join(command[1:4])
        self._pending = b""
        self._usage = psutil.Process(self._process.pid)
        if config is not None:
            self.tell(json.dumps(config))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    def cpu_seconds(self) -> float:
        """CPU that the child and its own children took so far, user and system."""
        used = [one.cpu_times() for one in self._family()]
        return float(sum(times.user + times.system for times in used))

    def resident_bytes(self) -> int:
        """Memory of the child and its own children that is in RAM now."""
        return sum(int(one.memory_info().rss) for one in self._family())

    def tell(self, line: str) -> None:
        """Send one line.

        Raises:
            ChildError: if the child is gone.
        """
        try:
            _pipe(self._process.stdin).write(line.encode() + b"\n")
            _pipe(self._process.stdin).flush()
        except BrokenPipeError as gone:
            raise self._failure("is gone") from gone

    def hear(self, deadline_seconds: float) -> dict[str, Any]:
        """The child's next line, which is a JSON object.

        Raises:
            ChildError: if there is none in time, or it is something else.
        """
        line = self._line(time.monotonic() + deadline_seconds, deadline_seconds)
        try:
            said = json.loads(line)
        except ValueError as nonsense:
            raise self._failure(f"said {line[:200]!r}, not JSON") from nonsense
        if not isinstance(said, dict):
            raise self._failure(f"said {line[:200]!r}, not an object")
        if "error" in said:
            raise self._failure(f"reports: {said['error']}")
        return said

    def stop(self, deadline_seconds: float = 30) -> None:
        """End the child by SIGTERM; by SIGKILL when it does not go in time."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(deadline_seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()

    def _family(self) -> list[psutil.Process]:
        return [self._usage, *self._usage.children(recursive=True)]

    def _line(self, until: float, deadline_seconds: float) -> bytes:
        stdout = _pipe(self._process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise self._failure(f"said nothing for {deadline_seconds:g} s")
                chunk = stdout.read1(65_536)  # type: ignore[attr-defined]
                if not chunk:
                    raise self._failure("ended before it answered")
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _failure(self, what: str) -> ChildError:
        tail = self._errors.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
        return ChildError(
            f"{self._name} {what}" + (f"; it wrote:\n{tail}" if tail else "")
        )


def timed(worker: Child, measured: Child, deadline_seconds: float) -> dict[str, Any]:
    """Let a prepared worker do its round, and add what the measured process took.

    Returns:
        The worker's report, with `cpuSeconds` of the measured process and
        `othersShare` of the CPUs.

    Raises:
        ChildError: if the worker fails or is late.
    """
    worker.hear(deadline_seconds)
    machine, own = MachineTime.now(), worker.cpu_seconds()
    cpu = measured.cpu_seconds()
    worker.tell("go")
    report = worker.hear(deadline_seconds)
    report["cpuSeconds"] = measured.cpu_seconds() - cpu
    own = worker.cpu_seconds() - own
    if measured is not worker:
        own += report["cpuSeconds"]
    report["othersShare"] = MachineTime.now().others_share_since(machine, own)
    return report


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "both pipes are asked for at the start"  # noqa: S101
    return stream
