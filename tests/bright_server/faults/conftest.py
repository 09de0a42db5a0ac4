"""A disk that fails on command."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.power.machine import PowerSwitch, switched_on


@pytest.fixture
async def disk() -> AsyncIterator[PowerSwitch]:
    """A mounted disk, and what makes it fail."""
    async with switched_on() as switch:
        yield switch
