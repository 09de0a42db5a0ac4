"""The yardsticks really do the work that they stand for."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.errors import MiscountError
from benchmarks.ingest.contenders import BareSqlite, BareWebSocket, create_database
from benchmarks.ingest.prefill import prefilled
from benchmarks.ingest.workload import Workload
from benchmarks.ingest.yardsticks.sqlite import open_durable

SMALL = Workload(connections=4, batches=6, batch_messages=20, conversations=8)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "bare.sqlite"
    create_database(path)
    return path


def one_value(database: Path, query: str) -> object:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchone()[0]


@pytest.mark.parametrize("numbering", [False, True])
def test_bare_sqlite_stores_each_message_once_with_its_outbox_row(
    database: Path, tmp_path: Path, numbering: bool
) -> None:
    BareSqlite(database, tmp_path, numbering=numbering).round(SMALL)
    assert one_value(database, "SELECT count(*) FROM message") == SMALL.new
    assert one_value(database, "SELECT count(*) FROM outbox") == SMALL.new
    assert one_value(database, "SELECT max(position) FROM message") == SMALL.new


@pytest.mark.parametrize("numbering", [False, True])
def test_bare_sqlite_leaves_sequences_without_a_gap(
    database: Path, tmp_path: Path, numbering: bool
) -> None:
    BareSqlite(database, tmp_path, numbering=numbering).round(SMALL)
    faulty = one_value(
        database,
        "SELECT count(*) FROM conversation JOIN (SELECT conversation, count(*) AS held,"
        " count(DISTINCT sequence) AS distinct_ones, max(sequence) AS highest"
        " FROM message GROUP BY conversation) USING (conversation)"
        " WHERE NOT (last_sequence = held AND held = highest AND held = distinct_ones)",
    )
    assert faulty == 0


def test_bare_sqlite_is_as_durable_as_bright(database: Path) -> None:
    with closing(open_durable(database)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_round_that_was_done_already_is_a_miscount(
    database: Path, tmp_path: Path
) -> None:
    bare = BareSqlite(database, tmp_path)
    bare.round(SMALL)
    with pytest.raises(MiscountError, match="480 messages sent"):
        bare.round(SMALL)


def test_the_bare_websocket_answers_every_message(tmp_path: Path) -> None:
    with BareWebSocket(tmp_path) as stack:
        done = stack.round(SMALL)
    assert done.messages == SMALL.sent
    assert done.bytes_per_message is None


def test_a_prefilled_database_holds_the_rows_and_says_where_to_go_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "history.sqlite"
    first = prefilled(path, SMALL, 1000, lambda _: None)
    stored = one_value(path, "SELECT count(*) FROM message")
    assert isinstance(stored, int)
    assert 1000 <= stored < 1000 + SMALL.connections * SMALL.new_of_batch
    assert stored == first * SMALL.connections * SMALL.new_of_batch
