"""What tests of single commits ask of the file and of the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from bright_server.commit.groups import (
    BatchCommitted,
)
from bright_server.commit.records import (
    HistoryQuery,
)
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore
from bright_server.testing.sends import (
    CONVERSATION,
    batch_of,
    showing,
)

EVERYTHING = HistoryQuery("a member", CONVERSATION, "newer", None, 500, 1_000_000)


def rows(settings: Settings, sql: str) -> list[Any]:
    with closing(sqlite3.connect(settings.database_path, timeout=10)) as database:
        return database.execute(sql).fetchall()


def change(settings: Settings, sql: str) -> None:
    with closing(sqlite3.connect(settings.database_path, timeout=10)) as database:
        database.execute(sql)
        database.commit()


async def sequence_after(store: SqliteStore, grant: Grant, name: str) -> int:
    (outcome,) = await store.commit_group([batch_of(grant, showing(name))])
    assert isinstance(outcome, BatchCommitted)
    return outcome.sequences[0]
