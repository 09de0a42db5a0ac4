"""What a copy refuses, or finds at its end: nothing of two stores is ever mixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bright_server import backends
from bright_server.commit.records import CommitState
from bright_server.commit.store_copy import copy_store
from bright_server.commit.transfer import (
    COPIED_KINDS,
    CopiedCommit,
    CopiedLogEntry,
    CopiedMessage,
    CopiedRecord,
    CopyMark,
    StoreImport,
)
from bright_server.errors import (
    CopyDiffers,
    CopyRefused,
    SchemaRefused,
    StoreInUse,
    StoreUnavailable,
)
from bright_server.settings import Settings
from bright_server.stores.redis import importing, schema
from bright_server.testing.engines.valkey import Valkey
from bright_server.testing.sends import batch_of, granted, showing
from tests.bright_server.databases.conftest import Places
from tests.bright_server.databases.filling import fill
from tests.bright_server.manual_clock import ManualClock

kinds = pytest.mark.parametrize("there", ["sqlite", "postgresql", "redis"])
PAGE_SIZE = 100


class Broken(Exception):  # noqa: N818 - it is no error of Bright
    """A copy is broken off."""


class Changed:
    """A `StoreImport` around another one, which changes what is loaded."""

    def __init__(
        self,
        real: StoreImport,
        change: Callable[[Sequence[CopiedRecord]], Sequence[CopiedRecord]],
    ) -> None:
        self._real = real
        self._change = change

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        return getattr(self._real, name)

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        await self._real.load(self._change(records), mark)


async def copied(
    source: Settings,
    target: Settings,
    clock: ManualClock,
    change: Callable[[Sequence[CopiedRecord]], Sequence[CopiedRecord]] = list,
    new_id: str | None = None,
) -> str:
    async with (
        backends.exporting(source, clock) as one,
        backends.importing(target, clock) as two,
    ):
        into = cast("StoreImport", Changed(two, change))
        store_id = new_id or one.facts.store_id
        report = await copy_store(one, into, store_id, PAGE_SIZE, lambda *_: None)
        return report.store_id


def otherwise(record: CopiedRecord) -> CopiedRecord:
    """A record that differs in what is said alone: not in its scope, nor its place."""
    if isinstance(record, CopiedMessage):
        return replace(record, message=record.message._replace(text="otherwise"))
    if isinstance(record, CopiedLogEntry):
        return replace(record, body=record.body + b" ")
    if isinstance(record, CopiedCommit):
        return replace(record, identity=bytes(reversed(record.identity)))
    changes: dict[str, Any] = {
        "token_digest": b"\0" * 32,
        "title": "otherwise",
        "anchored_at_ms": 7,
        "content": '["otherwise"]',
        "profile": '{"otherwise":1}',
        "facts": '{"otherwise":1}',
    }
    for name, value in changes.items():
        if hasattr(record, name):
            return replace(record, **{name: value})
    raise AssertionError(record)


@kinds
async def test_whatever_differs_at_the_end_is_found_and_named(
    there: str, places: Places, clock: ManualClock
) -> None:
    """One record of every kind in turn, and none that is counted differently."""
    source = places("sqlite")
    await fill(source, clock)
    for kind, types in COPIED_KINDS.items():
        for each_type in types:

            def lie(
                records: Sequence[CopiedRecord],
                wanted: type[CopiedRecord] = each_type,
            ) -> Sequence[CopiedRecord]:
                first = next((e for e in records if type(e) is wanted), None)
                return [otherwise(e) if e is first else e for e in records]

            with pytest.raises(CopyDiffers) as told:
                await copied(source, places(there), clock, lie)
            assert told.value.kinds.startswith(f"{kind} (")
            assert "," not in told.value.kinds.partition(")")[2]


@kinds
async def test_a_record_of_an_open_commit_that_differs_is_found(
    there: str, places: Places, clock: ManualClock
) -> None:
    """MS-11, MS-21: what recovery would send is compared, too."""
    source = places("sqlite")
    await fill(source, clock)

    def lie(records: Sequence[CopiedRecord]) -> Sequence[CopiedRecord]:
        return [
            replace(each, delivery=replace(each.delivery, recipient="somebody else"))
            if isinstance(each, CopiedCommit)
            and each.state is CommitState.RECORDED
            and each.delivery is not None
            else each
            for each in records
        ]

    with pytest.raises(CopyDiffers, match="commits"):
        await copied(source, places(there), clock, lie)


@kinds
@pytest.mark.parametrize("begun_as", [None, "f" * 32])
async def test_a_copy_goes_on_under_the_name_that_it_was_begun_with_or_not_at_all(
    there: str, begun_as: str | None, places: Places, clock: ManualClock
) -> None:
    """OT-44: to extensions the name says whether they have to offer all again."""
    source, target = places("sqlite"), places(there)
    await fill(source, clock)

    def break_off(records: Sequence[CopiedRecord]) -> Sequence[CopiedRecord]:
        raise Broken

    with pytest.raises(Broken):
        await copied(source, target, clock, break_off, begun_as)

    with pytest.raises(CopyRefused, match="--new-id"):
        await copied(source, target, clock, new_id=None if begun_as else "e" * 32)
    # Another name of its own than the first time is none that anybody knew.
    store_id = await copied(source, target, clock, new_id=begun_as and "e" * 32)

    async with backends.opened(target, clock) as backend:
        assert backend.observations.store_id == store_id
    if begun_as:
        assert store_id == begun_as


async def test_a_copy_into_redis_that_another_one_overtook_loads_nothing_more(
    places: Places, clock: ManualClock
) -> None:
    source, target = places("sqlite"), places("redis")
    await fill(source, clock)
    async with (
        backends.exporting(source, clock) as one,
        backends.importing(target, clock) as two,
        backends.importing(target, clock) as late,
    ):
        facts = one.facts
        begun = await late.begin(facts, facts.store_id)

        async def load_late(records: Sequence[CopiedRecord], mark: CopyMark) -> None:
            if mark.kind == "log":
                # The first page again, which is loaded, and the one behind it.
                for kind in ("conversations", None):
                    with pytest.raises(StoreInUse, match="another copy"):
                        await late.load([], replace(begun, kind=kind))
                with pytest.raises(StoreInUse, match="another copy"):
                    await late.finish(begun)
            await load(records, mark)

        load = two.load
        two.load = load_late  # type: ignore[method-assign]
        await copy_store(one, two, facts.store_id, PAGE_SIZE, lambda *_: None)

        with pytest.raises(StoreUnavailable, match="somebody else has finished"):
            await late.finish(begun)
    async with backends.opened(target, clock) as backend:
        assert backend.observations.store_id == facts.store_id


@pytest.fixture
def own(tmp_path: Path) -> Valkey:
    return Valkey(tmp_path / "valkey")


def database_of(server: Valkey) -> Settings:
    return Settings.model_validate({"database": f"redis://127.0.0.1:{server.port}/0"})


async def test_no_copy_is_begun_where_a_server_starts_at_this_moment(
    own: Valkey, places: Places, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    text = importing._Begun.text

    def meanwhile(begun: importing._Begun) -> bytes:
        own.ask("HSET", "bright:store", "id", "of the server")
        return text(begun)

    monkeypatch.setattr(importing._Begun, "text", meanwhile)
    with own, pytest.raises(CopyRefused, match="holds something already"):
        await copied(source, database_of(own), clock)


async def test_no_server_starts_where_a_copy_is_begun_at_this_moment(
    own: Valkey, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = schema._refuse_unfinished

    def meanwhile(is_copied_into: int, settings: Settings) -> None:
        look(is_copied_into, settings)
        own.ask("SET", "bright:copy", "begun")

    monkeypatch.setattr(schema, "_refuse_unfinished", meanwhile)
    with own, pytest.raises(SchemaRefused, match="is not finished"):
        async with backends.opened(database_of(own), clock):
            pass


async def test_nothing_is_copied_among_the_remains_of_another_store(
    own: Valkey, places: Places, clock: ManualClock
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    with own:
        own.ask("SET", "somebody's", "own")
        own.ask("SET", "bright:{7}:log:last", "3")
        with pytest.raises(CopyRefused, match="holds something already"):
            await copied(source, database_of(own), clock)
        own.ask("DEL", "bright:{7}:log:last", "somebody's")
        await copied(source, database_of(own), clock)


async def test_ms_30_a_number_that_redis_cannot_keep_is_said_in_words(
    places: Places, clock: ManualClock
) -> None:
    source = places("sqlite")
    async with backends.opened(source, clock) as backend:
        late = showing("late")._replace(sent_at_ms=2**60)
        await backend.observations.commit_group(
            [batch_of(await granted(backend), late)]
        )

    with pytest.raises(StoreUnavailable, match=f"{2**60} is too large"):
        await copied(source, places("redis"), clock)
