"""One origin's databases."""

from __future__ import annotations

import pytest

from storage_schema import Factory


@pytest.fixture
def factory() -> Factory:
    return Factory()
