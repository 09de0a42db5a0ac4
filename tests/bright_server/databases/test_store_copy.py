"""A whole store, copied into another: everything, once, through every death."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bright_server import backends
from bright_server.cli import main
from bright_server.commit.committer import DurableCommitter
from bright_server.commit.groups import BatchCommitted
from bright_server.commit.records import (
    CommitIntent,
    CommittedMessage,
    HistoryItem,
    HistoryQuery,
)
from bright_server.commit.store_copy import copy_store
from bright_server.commit.transfer import (
    COPIED_KINDS,
    CopiedCommit,
    CopiedLogEntry,
    CopiedMessage,
    CopiedRecord,
)
from bright_server.errors import (
    CopyDiffers,
    CopyRefused,
    SchemaRefused,
    StoreInUse,
)
from bright_server.fanout.contract import LogPosition
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.testing.sends import (
    ACCOUNT,
    CONVERSATION,
    OTHER_CONVERSATION,
    batch_of,
    granted,
    sending,
    showing,
)
from tests.bright_server.databases.conftest import Places
from tests.bright_server.databases.filling import OPEN, PUBLISHED, fill, records_of
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.processes import bright_status

PAIRS = [
    ("sqlite", "sqlite"),
    ("sqlite", "postgresql"),
    ("postgresql", "sqlite"),
    ("postgresql", "postgresql"),
    ("sqlite", "redis"),
    ("redis", "sqlite"),
    ("redis", "postgresql"),
    ("postgresql", "redis"),
    ("redis", "redis"),
]
DEADLINE_SECONDS = 60
NOWHERE = LogPosition("", 0)

pairs = pytest.mark.parametrize(("here", "there"), PAIRS, ids=map(" to ".join, PAIRS))
INTO = [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("sqlite", "redis")]
"""One for each kind that is copied into: what is about the target alone."""
targets = pytest.mark.parametrize(("here", "there"), INTO, ids=map(" to ".join, INTO))


async def copied(
    source: Settings, target: Settings, clock: ManualClock, new_id: str | None = None
) -> dict[str, int]:
    async with (
        backends.exporting(source, clock) as one,
        backends.importing(target, clock) as two,
    ):
        store_id = new_id or one.facts.store_id
        report = await copy_store(one, two, store_id, 3, lambda *_: None)
    assert report.store_id == store_id
    return dict(report.records)


def placeless(records: dict[str, Sequence[CopiedRecord]]) -> dict[str, set[str]]:
    """The records of each kind, without what differs from log to log."""
    return {
        kind: {repr(without_place(each)) for each in each_kind}
        for kind, each_kind in records.items()
    }


def without_place(record: CopiedRecord) -> CopiedRecord:
    if isinstance(record, CopiedMessage | CopiedLogEntry):
        return replace(record, position=NOWHERE)
    if isinstance(record, CopiedCommit) and record.publication is not None:
        return replace(record, publication=NOWHERE)
    return record


@pairs
async def test_everything_is_copied_and_nothing_is_doubled(
    here: str, there: str, places: Places, clock: ManualClock
) -> None:
    source, target = places(here), places(there)
    await fill(source, clock)

    counts = await copied(source, target, clock)

    one, two = await records_of(source, clock), await records_of(target, clock)
    assert placeless(two) == placeless(one)
    assert {kind: len(records) for kind, records in two.items()} == counts
    assert all(counts.values()), counts
    if here == there:
        assert two == one


@pairs
async def test_a_copy_goes_on_as_the_store_would_have(
    here: str, there: str, places: Places, clock: ManualClock
) -> None:
    """MS-12, MS-13, MS-20, MS-26: acks are replayed, open intents finished, and no
    number is given twice."""
    source, target = places(here), places(there)
    await fill(source, clock)
    before = await history(source, clock)

    await copied(source, target, clock)

    assert await history(target, clock) == before
    async with (
        backends.opened(source, clock) as one,
        backends.opened(target, clock) as two,
    ):
        assert two.observations.store_id == one.observations.store_id
        for request in (
            sending("first", mentions=("a", "b"), reply_to="0001"),
            request_of(OTHER_CONVERSATION, showing("1000", "observed alone")),
            request_of(CONVERSATION, showing("0003")),
        ):
            ack = await two.commits.load_commit_for_request(request)
            assert isinstance(ack, CommittedMessage)
            first = await one.commits.load_commit_for_request(request)
            assert isinstance(first, CommittedMessage)
            assert ack.coordinates == first.coordinates
            if here == there:
                assert ack == first
        committer = DurableCommitter(two.commits, two.publisher, NoAdmission(), target)
        for name in (*OPEN, PUBLISHED):
            reserved = await one.commits.load_commit_for_request(sending(name))
            assert isinstance(reserved, CommitIntent)
            done = await committer.resume(sending(name).key)
            assert done.coordinates == reserved.coordinates
        grant = await granted(two)
        (outcome,) = await two.observations.commit_group(
            [batch_of(grant, showing("0001"), showing("9999"))]
        )
        assert isinstance(outcome, BatchCommitted)
        assert outcome.repeats == {0}
        highest = max(each.sequence for each in before)
        assert outcome.sequences[1] == highest + 1
    published = (await records_of(target, clock))["log"]
    keys = [each.key for each in published if isinstance(each, CopiedLogEntry)]
    assert len(keys) == len(set(keys))


class NoAdmission:
    """See `Admission`: what is resumed was admitted before."""

    def check_form(self, request: object) -> None:
        pass

    async def admit(self, request: object, candidate: object) -> None:
        pass


async def history(settings: Settings, clock: ManualClock) -> tuple[HistoryItem, ...]:
    query = HistoryQuery(ACCOUNT, CONVERSATION, "newer", None, 100, 1_000_000)
    async with backends.opened(settings, clock) as backend:
        return (await backend.commits.history_page(query)).items


@targets
async def test_a_copy_that_is_killed_again_and_again_is_the_same_copy(
    here: str, there: str, places: Places, clock: ManualClock
) -> None:
    source, target = places(here), places(there)
    await fill(source, clock)

    process = await started(source, target, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), DEADLINE_SECONDS)

    assert process.returncode == 0
    assert int(out) > 2 * len(COPIED_KINDS)
    one, two = await records_of(source, clock), await records_of(target, clock)
    assert placeless(two) == placeless(one)
    if here == there:
        assert two == one


async def one_run(source: Settings, target: Settings, last_step: int) -> int:
    process = await started(source, target, str(last_step))
    return await asyncio.wait_for(process.wait(), DEADLINE_SECONDS)


async def started(
    source: Settings, target: Settings, *step: str, stdout: int | None = None
) -> asyncio.subprocess.Process:
    """See `child`."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.bright_server.databases.child"),
        *(str(source.database), str(target.database), *step),
        stdout=stdout,
    )


@targets
async def test_an_unfinished_copy_is_no_store(
    here: str, there: str, places: Places, clock: ManualClock
) -> None:
    source, target = places(here), places(there)
    await fill(source, clock)
    assert await one_run(source, target, 6) == -signal.SIGKILL

    with pytest.raises(SchemaRefused, match="bright store copy"):
        async with backends.opened(target, clock):
            pass
    with pytest.raises(SchemaRefused, match="bright store copy"):
        await backends.schema_state(target)

    await copied(source, target, clock)
    async with backends.opened(target, clock):
        pass


@targets
async def test_a_copy_is_refused_where_it_would_mix_two_stores(
    here: str, there: str, places: Places, clock: ManualClock
) -> None:
    source, other, target = places(here), places(here), places(there)
    await fill(source, clock)
    async with backends.opened(other, clock):
        pass
    assert await one_run(source, target, 6) == -signal.SIGKILL

    with pytest.raises(CopyRefused, match="another store"):
        await copied(other, target, clock)
    await copied(source, target, clock)
    with pytest.raises(CopyRefused, match="holds something already"):
        await copied(source, target, clock)


@targets
async def test_a_source_that_was_written_meanwhile_is_found(
    here: str, there: str, places: Places, clock: ManualClock
) -> None:
    source, target = places(here), places(there)
    await fill(source, clock)
    assert await one_run(source, target, 9) == -signal.SIGKILL
    async with backends.opened(source, clock) as backend:
        await granted(backend)

    with pytest.raises(CopyDiffers, match="bindings"):
        await copied(source, target, clock)
    with pytest.raises(SchemaRefused, match="not finished"):
        async with backends.opened(target, clock):
            pass


async def test_no_server_writes_a_file_that_is_copied(
    places: Places, clock: ManualClock
) -> None:
    source, target = places("sqlite"), places("sqlite")
    await fill(source, clock)

    with backends.held(source), pytest.raises(StoreInUse):
        await copied(source, target, clock)

    assert not target.database_path.exists()


@targets
async def test_the_command_copies_keeps_the_name_and_says_so(
    here: str,
    there: str,
    places: Places,
    clock: ManualClock,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, moved, cloned = places(here), places(there), places(there)
    await fill(source, clock)

    async def copy(*arguments: str) -> int:
        command = ["store", "copy", "--json", str(source.database), *arguments]
        return await asyncio.to_thread(main, command)

    assert await copy(str(moved.database)) == 0
    move = json.loads(capsys.readouterr().out)
    assert await copy(str(cloned.database), "--new-id") == 0
    clone = json.loads(capsys.readouterr().out)
    again = await copy(str(moved.database))

    async with backends.opened(source, clock) as backend:
        store_id = backend.observations.store_id
    assert move["storeId"] == store_id
    assert clone["storeId"] != store_id
    assert move["records"] == clone["records"]
    # It can neither be the source nor a replica of it: so it is known to be done.
    assert again == 0
    assert json.loads(capsys.readouterr().out) == move


async def test_a_store_is_not_copied_into_itself(
    places: Places, clock: ManualClock
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    path = source.database_path

    status, _, err = await bright_status(
        "store", "copy", path, path.parent / "." / path.name
    )

    assert status == 2
    assert "it is the store itself" in err
