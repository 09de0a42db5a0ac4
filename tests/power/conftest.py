"""A disk of a test's own, whose power it can cut."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.power.machine import PowerSwitch, switched_on


@pytest.fixture
async def power() -> AsyncIterator[PowerSwitch]:
    """The switch of a mounted disk on which nothing lasts that was not synced."""
    async with switched_on() as switch:
        yield switch
