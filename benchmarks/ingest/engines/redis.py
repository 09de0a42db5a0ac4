"""Redis, or Valkey: each round on a fresh server, or on an emptied database of one."""

import dataclasses
import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from redis import Redis
from redis.exceptions import RedisError

from benchmarks.children import Child, module, timed
from benchmarks.errors import WorkloadError
from benchmarks.ingest.contenders import (
    BATCHES_OF_GROUP,
    ROUND_SECONDS,
    Bright,
    check,
    create_database,
    round_of,
)
from benchmarks.ingest.engines.watching import watched
from benchmarks.ingest.figures import Round
from benchmarks.ingest.workload import Workload
from bright_server.database_address import Host, RedisServer, database_address
from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions

# What is no data: what clients have under way, and what is not in the file yet.
_PASSING = ("mem_clients_normal", "mem_aof_buffer")
# All that is written shall be in the file, to be counted.
_OPTIONS = ValkeyOptions(extra={"auto-aof-rewrite-percentage": "0"})


class BareRedis:
    """The prepared rows into Bright's own keys, 20 batches a pipelined transaction."""

    def __init__(self, address: RedisServer, logs: Path) -> None:
        self._at = address
        self._logs = logs

    def round(self, workload: Workload) -> Round:
        """Write the whole workload; every new message must be there afterwards."""
        (host,) = self._at.hosts
        config = {
            "host": host.name,
            "port": host.port,
            "number": self._at.number,
            "workload": dataclasses.asdict(workload),
            "batchesOfGroup": BATCHES_OF_GROUP,
        }
        before = data_bytes(self._at)
        command = module("benchmarks.ingest.yardsticks.redis")
        with Child(command, config, self._logs) as writer:
            report = timed(writer, writer, ROUND_SECONDS)
        check(report, workload, duplicates=workload.sent - workload.new)
        return dataclasses.replace(
            round_of(report, workload),
            bytes_per_message=(data_bytes(self._at) - before) / workload.new,
        )


class RedisEngine:
    """What lends an empty database for each round."""

    def __init__(self, given: RedisServer | None, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._numbers = itertools.count()

    def bright(self, workload: Workload, in_flight: int) -> Round:
        """Let Bright do a round."""
        with self._lent() as address:

            def do() -> Round:
                with Bright(
                    str(address),
                    self._folder,
                    in_flight=in_flight,
                    stored_bytes=lambda: data_bytes(address),
                ) as server:
                    return server.round(workload)

            return _watched(address, workload, do)

    def bare(self, workload: Workload) -> Round:
        """Let the bare writer do a round."""
        with self._lent() as address:
            create_database(str(address))
            writer = BareRedis(address, self._folder)
            return _watched(address, workload, lambda: writer.round(workload))

    @contextmanager
    def _lent(self) -> Iterator[RedisServer]:
        if self._given is not None:
            with _emptied(self._given):
                yield self._given
            return
        folder = self._folder / f"valkey-{next(self._numbers)}"
        with Valkey(folder, _OPTIONS) as own:
            address = database_address(own.url)
            assert isinstance(address, RedisServer)  # noqa: S101 - it says redis://
            yield address
        shutil.rmtree(folder)


@contextmanager
def opened(given: RedisServer | None, folder: Path) -> Iterator[RedisEngine]:
    """Hold what lends databases: of a given server, or of servers from the wheel.

    Raises:
        WorkloadError: it cannot be used.
    """
    if given is not None and not _is_plain(given):
        raise WorkloadError(
            "of Redis give redis://HOST:PORT/NUMBER: one server, and an empty database"
            " of it that takes no user and no password"
        )
    try:
        yield RedisEngine(given, folder)
    except (EngineError, RedisError) as error:
        raise WorkloadError(f"Redis: {error}") from error


def data_bytes(address: RedisServer) -> int:
    """Return how much memory the data of a server takes."""
    memory = _told(address, "memory")
    passing = sum(int(memory.get(each, 0)) for each in _PASSING)
    return int(memory["used_memory"]) - passing


def _watched(
    address: RedisServer, workload: Workload, do: Callable[[], Round]
) -> Round:
    def cpu_seconds() -> float:
        cpu = _told(address, "cpu")
        kinds = ("user", "sys", "user_children", "sys_children")
        return float(sum(cpu[f"used_cpu_{kind}"] for kind in kinds))

    def log_bytes() -> int | None:
        size = _told(address, "persistence").get("aof_current_size")
        return None if size is None else int(size)

    return watched(workload, do, cpu_seconds, log_bytes)


@contextmanager
def _emptied(given: RedisServer) -> Iterator[None]:
    """Lend somebody's server's database if it is empty, and empty it again."""
    with _client(given) as client:
        if client.dbsize():
            raise WorkloadError(
                f"{given} holds something, and nothing of it was touched: give an"
                " empty database"
            )
        try:
            yield
        finally:
            client.flushdb()


def _told(address: RedisServer, section: str) -> dict[str, Any]:
    with _client(address) as client:
        return cast("dict[str, Any]", client.info(section))


def _client(address: RedisServer) -> Redis:
    host: Host = address.hosts[0]
    return Redis(host=host.name, port=host.port, db=address.number)


def _is_plain(address: RedisServer) -> bool:
    is_one = len(address.hosts) == 1
    return is_one and not (address.user or address.tls or address.options)
