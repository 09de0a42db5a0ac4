"""Key generators: counting, following, and the end of the numbers."""

from __future__ import annotations

import math

import pytest

from storage_schema import ConstraintError
from storage_schema.key_generator import LIMIT, KeyGenerator


@pytest.mark.parametrize(
    ("key", "following"),
    [(1, 2), (7.9, 8), (0.5, 1), (-3, 1), ("9", 1), (-math.inf, 1)],
)
def test_it_stays_ahead_of_numbers_alone(key: object, following: int) -> None:
    generator = KeyGenerator()
    generator.follow(key)

    assert generator.generate() == following


@pytest.mark.parametrize("key", [LIMIT, 1e300, math.inf])
def test_behind_the_last_number_there_is_none(key: float) -> None:
    generator = KeyGenerator()
    generator.follow(LIMIT - 1)
    assert generator.generate() == LIMIT
    generator.follow(key)

    with pytest.raises(ConstraintError, match=r"has reached 2\^53"):
        generator.generate()
