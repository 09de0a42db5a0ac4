"""The store in memory behaves like the reference model (MS-03, MS-40)."""

from __future__ import annotations

from bright_server.testing.state_machine import run_against_model
from bright_server.testing.two_step import TwoStepUnderTest
from tests.bright_server.stores.memory.under_test import MemoryUnderTest


def test_any_history_ends_as_the_model_says() -> None:
    """MS-40: whatever is called, in whatever order, with restarts between."""
    run_against_model(MemoryUnderTest, examples=20)


def test_any_history_of_two_steps_ends_as_the_model_says() -> None:
    """MS-24, MS-40: the inherited default is the same contract."""
    run_against_model(lambda: TwoStepUnderTest(MemoryUnderTest()), examples=20)
