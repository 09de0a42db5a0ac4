"""A database as the first server wrote it, and as the second stepped it forward."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bright_server.stores.sqlite import schema
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID


def write_version_1(path: Path) -> None:
    """Write a database as the first server did, with rows in every table of it."""
    (first,) = [step for step in schema.steps() if step.version == 1]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        for statement in schema.split_statements(first.statements):
            database.execute(statement)
        rows: dict[str, tuple[object, ...]] = {
            "store": (1, "the store's name", 1, 1, 5),
            "binding": ("bnd_1", b"digest", "label", f'["{ACCOUNT}"]', 1, 6, None),
            "conversation": (
                1, ACCOUNT, CONVERSATION, "title", 7, 1, "null", 1, 2,
            ),
            "message": (
                1, 1, str(FIRST_ID + 1), 1, "3500000000002", "inbound", FIRST_ID + 1,
                "text", "text 1", None, None, None, None, 8, 9,
            ),
            "outbox": (1, 1),
            "conflict": (
                1, 1, str(FIRST_ID + 1), b"digest",
                '["2","inbound",5,"text","other",null,null,null]', 8, 9,
            ),
            "anchor": (1, str(FIRST_ID + 1), FIRST_ID + 1, 9),
        }  # fmt: skip
        for table, row in rows.items():
            places = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {table} VALUES ({places})", row)


def write_version_2(path: Path) -> None:
    """Step the first server's database forward as the second did, and add a row."""
    write_version_1(path)
    (second,) = [step for step in schema.steps() if step.version == 2]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in schema.split_statements(second.statements):
            database.execute(statement)
        database.execute("UPDATE store SET schema_version = 2")
        database.execute(
            "INSERT INTO contact_profile VALUES (1, NULL, '{}', 'f', 5, 6, 'bnd_1')"
        )
