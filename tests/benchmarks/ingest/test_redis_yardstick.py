"""The yardstick on Redis really does the work that it stands for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import MiscountError, WorkloadError
from benchmarks.ingest.contenders import create_database
from benchmarks.ingest.engines.redis import BareRedis, opened
from benchmarks.ingest.workload import Workload
from bright_server import backends
from bright_server.database_address import RedisServer
from bright_server.settings import Settings
from bright_server.testing.engines.valkey import Valkey

SMALL = Workload(connections=4, batches=6, batch_messages=20, conversations=8)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with Valkey(tmp_path / "valkey") as valkey:
        yield valkey


def settings_of(server: Valkey, number: int = 0) -> Settings:
    address = f"redis://127.0.0.1:{server.port}/{number}"
    return Settings.model_validate({"database": address})


async def test_bare_redis_writes_what_bright_reads_as_its_own(
    server: Valkey, tmp_path: Path
) -> None:
    """Each message once, numbered without a gap, in the log at its place."""
    settings = settings_of(server)
    assert isinstance(settings.database, RedisServer)
    create_database(server.url)

    done = BareRedis(settings.database, tmp_path).round(SMALL)

    assert done.messages == SMALL.sent
    assert done.bytes_per_message
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    async for record in backends.dump(settings):
        rows[str(record["type"])].append(record)
    assert len(rows["message"]) == len(rows["outbox"]) == SMALL.new
    assert len(rows["conversation"]) == SMALL.conversations
    for conversation in rows["conversation"]:
        name = conversation["conversationId"]
        mine = [e for e in rows["message"] if e["conversationId"] == name]
        assert sorted(each["sequence"] for each in mine) == [
            *range(1, conversation["lastSequence"] + 1)
        ]
        assert len(mine) == conversation["lastSequence"]
    logged = {
        (each["partition"], each["position"]): each["messageId"]
        for each in rows["outbox"]
    }
    assert logged == {
        (each["partition"], each["position"]): each["messageId"]
        for each in rows["message"]
    }
    ends = Counter(partition for partition, _ in logged)
    assert all(position <= ends[partition] for partition, position in logged)
    with pytest.raises(MiscountError, match="480 messages sent"):
        BareRedis(settings.database, tmp_path).round(SMALL)


def test_a_given_database_is_lent_only_while_it_is_empty_and_is_emptied_again(
    server: Valkey, tmp_path: Path
) -> None:
    free, taken = (settings_of(server, number).database for number in (1, 0))
    assert isinstance(free, RedisServer)
    assert isinstance(taken, RedisServer)
    server.ask("SET", "somebody's", "data")

    with opened(free, tmp_path) as engine:
        done = engine.bare(SMALL)
    with (
        pytest.raises(WorkloadError, match="holds something"),
        opened(taken, tmp_path) as engine,
    ):
        engine.bare(SMALL)

    assert done.engine_cpu_seconds is not None
    assert done.log_bytes_per_message is not None
    assert done.log_bytes_per_message > len("a message")
    assert server.ask("GET", "somebody's").endswith(b"data\r\n")
    keyspace = server.ask("INFO", "keyspace")
    assert b"db0:keys=1," in keyspace
    assert b"db1:" not in keyspace
