"""The yardstick on PostgreSQL really does the work that it stands for."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from benchmarks.errors import MiscountError
from benchmarks.ingest.contenders import create_database
from benchmarks.ingest.engines.postgresql import BarePostgresql
from benchmarks.ingest.workload import Workload
from bright_server.testing.engines.postgresql import postgresql_databases

SMALL = Workload(connections=4, batches=6, batch_messages=20, conversations=8)


@pytest.fixture
def address() -> Iterator[str]:
    with postgresql_databases() as server:
        address = server.create_database()
        create_database(address)
        yield address


def one_value(address: str, query: bytes) -> object:
    with closing(psycopg.connect(address)) as connection:
        row = connection.execute(query).fetchone()
    return row and row[0]


def test_bare_postgresql_stores_each_message_once_and_moves_the_end(
    address: str, tmp_path: Path
) -> None:
    bare = BarePostgresql(address, tmp_path)

    done = bare.round(SMALL)

    assert done.messages == SMALL.sent
    assert done.bytes_per_message
    assert one_value(address, b"SELECT count(*) FROM message") == SMALL.new
    assert one_value(address, b"SELECT last_position FROM outbox_end") == SMALL.new
    assert (
        one_value(
            address,
            b"SELECT count(*) FROM conversation AS c WHERE last_sequence <>"
            b" (SELECT count(*) FROM message WHERE conversation = c.conversation)"
            b" OR last_sequence <>"
            b" (SELECT max(sequence) FROM message WHERE conversation = c.conversation)",
        )
        == 0
    )
    with pytest.raises(MiscountError, match="480 messages sent"):
        bare.round(SMALL)
