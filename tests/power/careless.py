"""A program of Bright's on a SQLite file that is not synced: it loses what it ACKs.

Run as `python -m tests.power.careless LEVEL MODULE …`, with a level of `synchronous`.
It shows that the tests of power cuts can fail, and nothing else.
"""

from __future__ import annotations

import runpy
import sqlite3
import sys

from bright_server.stores.sqlite import connection


def forget_durability(level: str) -> None:
    """Have every connection that is opened from here on use this level, unnoticed."""

    def set_pragmas(database: sqlite3.Connection) -> tuple[object, object]:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(f"PRAGMA synchronous={level}")
        return "wal", 2

    connection._set_pragmas = set_pragmas


if __name__ == "__main__":
    forget_durability(sys.argv.pop(1))
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
