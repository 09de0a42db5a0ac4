"""Waiting ends with what was waited for, or with words about what did not come."""

import pytest

from extension_harness.errors import WaitTimeoutError, WorkerStateTimeoutError
from extension_harness.waiting import countdown, wait_until


def test_what_the_probe_gives_is_returned() -> None:
    answers = iter([None, 0, "found"])
    assert wait_until(lambda: next(answers), 5, "it", every=0) == "found"


def test_the_probe_is_asked_even_without_time() -> None:
    assert wait_until(lambda: True, 0, "it")


def test_a_vain_wait_says_what_and_what_was_seen_last() -> None:
    with pytest.raises(
        WaitTimeoutError, match=r"0\.05 s in vain: it \(last seen: \[\]"
    ):
        wait_until(list, 0.05, "it")


def test_the_error_can_be_chosen() -> None:
    with pytest.raises(WorkerStateTimeoutError):
        wait_until(lambda: None, 0, "it", error=WorkerStateTimeoutError)


def test_a_countdown_never_goes_below_zero() -> None:
    assert 0 < countdown(60)() <= 60
    assert countdown(0)() == 0
    assert countdown(-1)() == 0
