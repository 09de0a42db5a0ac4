"""`bright store`: look into a whole store, or copy it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import uuid
from pathlib import Path

from bright_server import backends
from bright_server.cli.options import (
    Subparsers,
    add_database,
    add_json,
    address,
    note,
    refuse_folder,
    refuse_missing,
    settings_of_existing,
)
from bright_server.clock import SystemClock
from bright_server.commit.store_copy import CopyReport, copy_store
from bright_server.database_address import DatabaseAddress, SqliteFile
from bright_server.errors import ConfigurationError, CopyRefused
from bright_server.settings import Settings
from bright_server.wire.text import compact_json

_EVERY_SECONDS = 1.0


def add_store(subparsers: Subparsers) -> None:
    """Add `bright store`."""
    parser = subparsers.add_parser("store", help="look into a store, or copy it")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    dumping = actions.add_parser("dump", help="print every record as a line of JSON")
    add_database(dumping)
    dumping.set_defaults(run=_dump)
    _add_copy(actions)


def _add_copy(actions: Subparsers) -> None:
    copying = actions.add_parser(
        "copy",
        help="copy a whole store into an empty database, of any kind; the same"
        " command goes on with a copy that was broken off",
    )
    copying.add_argument("source", type=address, metavar="FROM", help="what is copied")
    copying.add_argument("target", type=address, metavar="TO", help="where to")
    copying.add_argument(
        "--new-id",
        action="store_true",
        help="name the copy anew: a second store beside the first, to which every"
        " extension offers all again; without it the store has moved",
    )
    for side in ("from", "to"):
        copying.add_argument(
            f"--{side}-password-file",
            type=Path,
            metavar="FILE",
            help=f"holds the password of {side.upper()}'s user (default"
            " BRIGHT_DATABASE_PASSWORD_FILE)",
        )
    add_json(copying)
    copying.set_defaults(run=_copy)


def _dump(parsed: argparse.Namespace) -> int:
    async def printed() -> None:
        async for record in backends.dump(settings):
            print(compact_json(record))

    settings = settings_of_existing(parsed)
    asyncio.run(printed())
    return 0


def _copy(parsed: argparse.Namespace) -> int:
    source = _side(parsed.source, parsed.from_password_file)
    target = _side(parsed.target, parsed.to_password_file)
    refuse_missing(source.database)
    if _is_same(source.database, target.database):
        raise CopyRefused(str(target.database), "it is the store itself")
    if not isinstance(source.database, SqliteFile):
        note(
            f"no server may write {source.database} meanwhile: nobody here can tell"
            " whether one does"
        )
    report = asyncio.run(_copied(source, target, new_id=parsed.new_id))
    facts = {
        "from": str(source.database),
        "to": str(target.database),
        "storeId": report.store_id,
        "records": dict(report.records),
        "keepsPlaces": report.keeps_places,
    }
    if parsed.json:
        print(compact_json(facts))
        return 0
    for kind, count in report.records.items():
        print(f"{count:>12,} {kind}")
    print(f"{target.database} is store {report.store_id}; both were read and are equal")
    if not report.keeps_places:
        print("messages have other places in the log there, in the same order")
    return 0


async def _copied(source: Settings, target: Settings, *, new_id: bool) -> CopyReport:
    clock = SystemClock()
    async with (
        backends.exporting(source, clock) as export,
        backends.importing(target, clock) as into,
    ):
        store_id = uuid.uuid4().hex if new_id else export.facts.store_id
        page_size = source.max_copied_records
        return await copy_store(export, into, store_id, page_size, _Progress().told)


class _Progress:
    """Says on standard error how far a copy is, about once a second."""

    def __init__(self) -> None:
        self._said_at_seconds = 0.0

    def told(self, done: str, kind: str, count: int) -> None:
        """See `Told`."""
        now = time.monotonic()
        if now - self._said_at_seconds >= _EVERY_SECONDS:
            self._said_at_seconds = now
            print(f"bright: {done} {count:,} {kind}", file=sys.stderr, flush=True)


def _side(database: DatabaseAddress, password_file: Path | None) -> Settings:
    changes: dict[str, object] = {"database": database}
    if password_file is not None:
        changes |= {"database_password_file": password_file, "database_password": None}
    settings = refuse_folder(Settings().model_copy(update=changes))
    try:
        backends.refuse_unshared(settings)
    except ConfigurationError as error:
        raise CopyRefused(str(database), str(error)) from error
    return settings


def _is_same(one: DatabaseAddress, other: DatabaseAddress) -> bool:
    if isinstance(one, SqliteFile) and isinstance(other, SqliteFile):
        return one.path.resolve() == other.path.resolve()
    return one == other
