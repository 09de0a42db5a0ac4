"""Key generators: "generate a key" and "possibly update the key generator"."""

from __future__ import annotations

import math
from typing import Final

from storage_schema.errors import ConstraintError

LIMIT: Final = 2**53
"""The largest number that a generator gives."""


class KeyGenerator:
    """Counts up from 1. Only a transaction that aborts ever sets it back."""

    __slots__ = ("current",)

    def __init__(self, current: int = 1) -> None:
        self.current = current

    def generate(self) -> int:
        """The next key; raises ``ConstraintError`` when there is none left.

        It counts as given only once ``follow`` hears of it: a record that could not be
        stored uses up no number.
        """
        if self.current > LIMIT:
            raise ConstraintError(
                "the key generator has reached 2^53; give keys yourself"
            )
        return self.current

    def follow(self, key: object) -> None:
        """A record was stored under ``key``: stay ahead of it, if it is a number."""
        if isinstance(key, (int, float)):
            number = LIMIT if key >= LIMIT else math.floor(max(key, 0))
            if number >= self.current:
                self.current = number + 1
