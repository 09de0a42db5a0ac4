"""Rows that go in by the hundred."""

import sqlite3
from contextlib import closing

import pytest

from bright_server.stores.sqlite.bulk import insert_rows


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 99, 100, 101, 234])
def test_all_rows_go_in_in_their_order(count: int) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (a, b)")
        values = [value for n in range(count) for value in (n, f"row {n}")]

        insert_rows(database, "INSERT INTO t (a, b) VALUES (?, ?)", values)

        found = database.execute("SELECT a, b FROM t ORDER BY rowid").fetchall()
    assert found == [(n, f"row {n}") for n in range(count)]
