"""What Chromium's cursors fetch ahead, as far as a program can tell.

From the third ``continue()`` in a row on, Chromium fetches the next positions at once:
5, then 10, 20, … 100. Any other request drops what is left of them, and the cursor
stands where the program believes. But when a fetch reached the end and all it gave was
used, nothing is left to drop and the cursor stays at the end: it does not meet what is
put ahead of it after that. Only a cursor that goes forward and is moved to a key goes
on, until it fetches ahead again. The W3C text has no such thing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_FREE_MOVES: Final = 2
_FEWEST: Final = 5
_MOST: Final = 100


class Lookahead:
    """How far one cursor has fetched ahead."""

    __slots__ = (
        "_amount",
        "_forward",
        "_found_end",
        "_is_at_end",
        "_left",
        "_moves",
        "_ran",
    )

    def __init__(self, *, forward: bool) -> None:
        self._forward = forward
        self._found_end = False
        self._ran = 0
        self._moves = 0
        self._amount = _FEWEST
        self._left = 0
        self._is_at_end = False

    def open(self, ran: int) -> None:
        """The cursor was opened by the transaction's request number ``ran``."""
        self._ran = ran

    def has_ended(self, ran: int, steps: int, positions: Callable[[int], int]) -> bool:
        """Whether the move by request number ``ran`` finds nothing, whatever there is.

        ``steps`` is the count of an ``advance``, or 0 for a ``continue()`` and -1 for a
        move to a key; ``positions(most)`` counts the positions ahead.
        """
        if ran != self._ran + 1:
            self._drop()
        self._ran = ran
        is_plain = steps == 0
        if is_plain:
            self._moves += 1
            steps = 1
            if not self._left and not self._is_at_end and self._moves > _FREE_MOVES:
                self._fetch(positions)
        if 0 < steps <= self._left:
            self._left -= steps
            return False
        if not is_plain:
            self._drop()
            if steps < 0 and self._forward:
                self._is_at_end = False
        return self._is_at_end

    def _fetch(self, positions: Callable[[int], int]) -> None:
        self._left = 0 if self._found_end else positions(self._amount)
        self._is_at_end = self._found_end = self._left < self._amount
        self._amount = min(self._amount * 2, _MOST)

    def _drop(self) -> None:
        self._moves, self._amount = 0, _FEWEST
        if self._left:
            self._left, self._is_at_end, self._found_end = 0, False, False
