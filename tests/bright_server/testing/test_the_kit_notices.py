"""A suite that cannot fail proves nothing: each of these faults must be noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from unittest import SkipTest

import pytest

from bright_server.stores.memory.commits import MemoryMessageStore
from bright_server.testing.message_store import MessageStoreContract
from tests.bright_server.stores.memory.under_test import MemoryUnderTest
from tests.bright_server.testing import broken_stores as broken

FAULTS: list[tuple[type, str]] = [
    (broken.TakesANumberForARepeat, "MS-20"),
    (broken.FreezesAgain, "MS-11"),
    (broken.ComparesNothing, "MS-12"),
    (broken.ComparesNothingOnceCommitted, "MS-12"),
    (broken.BelievesItsCaller, "MS-22"),
    (broken.CommitsWithoutARecord, "MS-22"),
    (broken.WritesHalf, "MS-23"),
    (broken.TakesTheLastPublication, "MS-23"),
    (broken.RecoversTheYoungestFirst, "MS-01"),
    (broken.RecoversWhatIsReservedOnly, "MS-21"),
    (broken.GivesTheLeaseToAll, "MS-26"),
    (broken.NeverEndsALease, "MS-26"),
    (broken.TrustsALeaseForAnHour, "MS-21"),
    (broken.ShowsHistoryToStrangers, "MS-14"),
    (broken.ForgetsTheByteCap, "MS-28"),
    (broken.NeverForgetsHistory, "MS-28"),
    (broken.PublishesWhenItRecords, "MS-14"),
    (broken.LetsErrorsOfPythonThrough, "MS-30"),
    (broken.TalksOfItsTables, "MS-30"),
    (broken.ForgetsAtARestart, "MS-21"),
    (broken.PublishesEachTimeAgain, "CL-20"),
    (broken.ReadsPastAnOpenPlace, "MS-28"),
    (broken.GroupsAcknowledgeWhatIsOpen, "MS-27"),
]


def rule_tests(rule: str) -> Iterator[str]:
    """The suite's tests that name a rule."""
    for name in dir(MessageStoreContract):
        said = getattr(MessageStoreContract, name).__doc__ or ""
        if name.startswith("test_") and rule in said:
            yield name


async def failures(
    rule: str, make: Callable[[], MemoryUnderTest], patience_seconds: float
) -> list[str]:
    """Which of a rule's tests do not pass over a store."""
    failed = []
    for name in rule_tests(rule):
        try:
            async with asyncio.timeout(patience_seconds):
                await getattr(MessageStoreContract(), name)(make())
        except SkipTest:
            continue  # it says nothing about this store
        except Exception:  # noqa: BLE001 - however it fails, it has noticed
            failed.append(name)
    return failed


@pytest.mark.parametrize(
    ("fault", "rule"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS]
)
async def test_a_store_with_this_fault_is_not_certified(fault: type, rule: str) -> None:
    """MS-40: and the test that says so names the rule that is broken."""
    make: Callable[[], MemoryUnderTest] = fault
    if issubclass(fault, MemoryMessageStore):
        make = partial(broken.BrokenUnderTest, fault)
    # One that waits for what never comes is noticed too.
    assert await failures(rule, make, patience_seconds=2)


async def test_a_sound_store_is_certified_in_the_same_way() -> None:
    """MS-40: what fails above is the fault, not the harness around it."""
    make = partial(broken.BrokenUnderTest, MemoryMessageStore)
    for rule in {rule for _, rule in FAULTS}:
        assert not await failures(rule, make, patience_seconds=60)
