"""`bright store copy`: a whole store into another database."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bright_server import backends
from bright_server.cli.options import (
    Subparsers,
    add_json,
    address,
    note,
    refuse_folder,
    refuse_missing,
)
from bright_server.clock import SystemClock
from bright_server.commit.store_copy import (
    CopyReport,
    Kept,
    copy_store,
    finished_before,
)
from bright_server.database_address import DatabaseAddress, PostgresqlServer, SqliteFile
from bright_server.errors import (
    ConfigurationError,
    CopyRefused,
    MessageStoreError,
    StoreInUse,
    StoreMissing,
    StoreUnavailable,
)
from bright_server.settings import Settings
from bright_server.wire.text import compact_json

_EVERY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Side:
    """FROM or TO: how it is called here, and how it is reached."""

    name: str
    settings: Settings
    has_own_password: bool

    @property
    def database(self) -> DatabaseAddress:
        """Return its address."""
        return self.settings.database


def add_copy(actions: Subparsers) -> None:
    """Add `bright store copy`."""
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


def _copy(parsed: argparse.Namespace) -> int:
    into = str(parsed.target)
    source = _side("FROM", parsed.source, parsed.from_password_file, into)
    target = _side("TO", parsed.target, parsed.to_password_file, into)
    with _in_words_of(source, into):
        refuse_missing(source.database)
    if _is_same(source.database, target.database):
        raise CopyRefused(into, "it is the store itself")
    _say_what_is_not_protected(source)
    is_done, report = asyncio.run(_made(source, target, new_id=parsed.new_id))
    facts = {
        "from": str(source.database),
        "to": into,
        "storeId": report.store_id,
        "records": dict(report.records),
        "keepsPlaces": report.keeps_places,
    }
    if parsed.json:
        print(compact_json(facts))
        return 0
    for kind, count in report.records.items():
        print(f"{count:>12,} {kind}")
    if is_done:
        print("nothing to do, the copy was finished before:")
    print(f"{into} is store {report.store_id}; both were read and are equal")
    if not report.keeps_places:
        print("messages have other places in the log there, in the same order")
    return 0


def _say_what_is_not_protected(source: _Side) -> None:
    if isinstance(source.database, PostgresqlServer):
        note(
            f"no server may write {source.database} meanwhile: one is seen as the copy"
            " begins, and not later"
        )
    elif not backends.can_be_held(source.settings):
        note(
            f"no server may write {source.database} meanwhile: nobody here can tell"
            " whether one does"
        )


async def _made(
    source: _Side, target: _Side, *, new_id: bool
) -> tuple[bool, CopyReport]:
    """Return whether all was done before, and the report."""
    clock = SystemClock()
    into = str(target.database)
    page_size = source.settings.max_copied_records
    told = _Progress().told
    async with AsyncExitStack() as stack:
        with _in_words_of(source, into):
            opening = backends.exporting(source.settings, clock)
            export = await stack.enter_async_context(opening)
        store_id = uuid.uuid4().hex if new_id else export.facts.store_id
        try:
            with _in_words_of(target, into):
                async with backends.importing(target.settings, clock) as there:
                    kept: Kept = there.kept
                    return False, await copy_store(
                        export, there, store_id, page_size, told
                    )
        except CopyRefused as error:
            refused = error
        try:
            async with backends.exporting(target.settings, clock) as finished:
                report = await finished_before(
                    export, finished, kept, page_size, told, is_moved=not new_id
                )
        except MessageStoreError:
            # It is no store, or no finished one.
            raise refused from None
    if report is None:
        raise refused
    if _may_be_one(source.database, target.database):
        raise CopyRefused(
            into,
            f"{refused.reason}; but both were read and are equal: if it is the copy,"
            " and neither FROM by another name nor a replica of it, nothing is to do",
        )
    return True, report


def _may_be_one(source: DatabaseAddress, target: DatabaseAddress) -> bool:
    """Say whether two addresses may lead to the same records, as replicas do."""
    return type(source) is type(target) and not isinstance(source, SqliteFile)


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


def _side(
    name: str, database: DatabaseAddress, password_file: Path | None, into: str
) -> _Side:
    changes: dict[str, object] = {"database": database}
    if password_file is not None:
        changes |= {"database_password_file": password_file, "database_password": None}
    settings = Settings().model_copy(update=changes)
    side = _Side(name, settings, password_file is not None)
    with _in_words_of(side, into):
        refuse_folder(settings)
        try:
            backends.refuse_unshared(settings)
        except ConfigurationError as error:
            raise CopyRefused(str(database), str(error)) from error
    return side


@contextmanager
def _in_words_of(side: _Side, into: str) -> Iterator[None]:
    """Name what this command has where an error names what other commands have."""
    try:
        yield
    except StoreMissing as error:
        raise CopyRefused(into, f"no database at {error.database}") from error
    except StoreInUse as error:
        raise CopyRefused(
            into,
            f"{error.database} is in use{error.holder}: stop its servers, and any other"
            " copy of it, and give the same command again",
        ) from error
    except CopyRefused as error:
        raise CopyRefused(error.into, _renamed(side, error.reason)) from error
    except StoreUnavailable as error:
        raise StoreUnavailable(error.doing, _renamed(side, error.reason)) from error
    except ConfigurationError as error:
        raise ConfigurationError(_renamed(side, str(error))) from error


def _renamed(side: _Side, words: str) -> str:
    for option in ("with --database", "--database"):
        name = f"as {side.name}" if option.startswith("with") else side.name
        words = words.replace(f"{option} (or BRIGHT_DATABASE)", name)
        words = words.replace(option, name)
    password = f"--{side.name.lower()}-password-file"
    if not side.has_own_password:
        password += " (or BRIGHT_DATABASE_PASSWORD_FILE)"
    return words.replace("BRIGHT_DATABASE_PASSWORD_FILE", password)


def _is_same(one: DatabaseAddress, other: DatabaseAddress) -> bool:
    if isinstance(one, SqliteFile) and isinstance(other, SqliteFile):
        # A second name of one file, too.
        return one.path.resolve() == other.path.resolve() or (
            other.path.exists() and one.path.samefile(other.path)
        )
    return one == other
