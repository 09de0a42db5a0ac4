"""Half a rule is none: stores that keep one in part are not certified (MS-40)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import SkipTest

import pytest

from bright_server.testing.crash.matrix import CrashMatrix
from bright_server.testing.message_store import MessageStoreContract
from tests.bright_server.stores.memory.under_test import MemoryUnderTest
from tests.bright_server.testing.broken_stores import BrokenUnderTest
from tests.bright_server.testing.partial_stores import (
    PARTS,
    Fault,
    PartialUnderTest,
    TakesTwoSteps,
    overlooking,
)

SUITE = MessageStoreContract
READINESS = SUITE.test_a_store_that_cannot_be_written_is_not_ready
WATCHED = SUITE.test_nobody_sees_the_atomic_step_half_done
CANCELLED = SUITE.test_a_cancelled_atomic_step_is_done_or_was_never_begun


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "test",
    [
        SUITE.test_another_request_of_the_key_is_a_conflict_in_every_state,
        SUITE.test_of_twenty_racing_contents_of_one_key_one_wins,
        SUITE.test_racing_contents_of_a_key_have_one_winner_across_openings,
    ],
)
async def test_a_digest_that_overlooks_a_part_is_noticed(
    part: str, test: Callable[..., Awaitable[None]]
) -> None:
    """MS-12: whichever part it is, also where it is the only one that differs."""
    with pytest.raises(AssertionError):
        await test(SUITE(), BrokenUnderTest(overlooking(part)))


@pytest.mark.parametrize("test", [WATCHED, CANCELLED])
async def test_two_steps_that_are_called_one_are_noticed(
    test: Callable[..., Awaitable[None]], tmp_path: Path
) -> None:
    """MS-23: in memory and in a file; by who looks, and by who is cut off."""
    for stores in (
        BrokenUnderTest(TakesTwoSteps),
        PartialUnderTest(tmp_path, "two steps"),
    ):
        with pytest.raises((AssertionError, ExceptionGroup)):
            await test(SUITE(), stores)


@pytest.fixture
def crashes() -> Iterator[CrashMatrix]:
    CrashMatrix.setup_class()
    yield CrashMatrix()
    CrashMatrix.teardown_class()


async def test_a_crash_between_two_steps_is_noticed(
    crashes: CrashMatrix, tmp_path: Path
) -> None:
    """MS-23, MS-40: a real process dies there, and OUTBOXED is left."""
    test = crashes.test_no_crash_leaves_the_atomic_step_half_done
    with pytest.raises(AssertionError, match="OUTBOXED"):
        await test(PartialUnderTest(tmp_path, "two steps"))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("store says yes", "commits.readiness"),
        ("log says yes", "publisher.readiness"),
        ("back end says yes", "prove_writable"),
    ],
)
async def test_readiness_that_is_only_said_is_noticed(
    fault: Fault, words: str, tmp_path: Path
) -> None:
    """MS-15: of the store, of its log, and of the whole back end."""
    with pytest.raises(AssertionError, match=f"nothing was refused.*{words}"):
        await READINESS(SUITE(), PartialUnderTest(tmp_path, fault))


async def test_what_is_not_certified_is_said(tmp_path: Path) -> None:
    """MS-15: where nobody can break the writing, the skip says what is open."""
    with pytest.raises(SkipTest, match="NOT CERTIFIED: that readiness notices"):
        await READINESS(SUITE(), MemoryUnderTest())


async def test_the_same_file_without_a_fault_is_certified(
    crashes: CrashMatrix, tmp_path: Path
) -> None:
    """MS-40: what fails above is the fault, not the harness around it."""
    tests: list[Callable[..., Awaitable[None]]] = [
        partial(READINESS, SUITE()),
        partial(WATCHED, SUITE()),
        partial(CANCELLED, SUITE()),
        crashes.test_no_crash_leaves_the_atomic_step_half_done,
    ]
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        folder.mkdir()
        await test(PartialUnderTest(folder, "none"))
