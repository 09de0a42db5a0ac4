"""An ordered set of byte strings: a list of short sorted lists, a tree of one level.

Adding, removing and finding cost one bisection over the lists and one inside a list; no
operation ever copies or moves more than one short list (``CHUNK`` members).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

CHUNK: Final = 512


class Ordered:
    """A set of byte strings in order. Members are unique; that is for the caller."""

    __slots__ = ("_chunks", "_lasts", "_size")

    def __init__(self, members: Iterable[bytes] = ()) -> None:
        """Takes members that are sorted and unique already."""
        given = list(members)
        self._chunks = [given[at : at + CHUNK] for at in range(0, len(given), CHUNK)]
        self._lasts = [chunk[-1] for chunk in self._chunks]
        self._size = len(given)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            yield from chunk

    def add(self, member: bytes) -> None:
        """Add a member that is not there yet."""
        self._size += 1
        lasts = self._lasts
        at = bisect_left(lasts, member)
        if at == len(lasts):
            if not at or len(self._chunks[-1]) >= CHUNK:
                self._chunks.append([member])
                lasts.append(member)
            else:
                self._chunks[-1].append(member)
                lasts[-1] = member
            return
        chunk = self._chunks[at]
        insort(chunk, member)
        if len(chunk) > CHUNK:
            half = len(chunk) // 2
            self._chunks.insert(at, chunk[:half])
            lasts.insert(at, chunk[half - 1])
            del chunk[:half]

    def remove(self, member: bytes) -> None:
        """Remove a member that is there; raises KeyError if it is not."""
        at = bisect_left(self._lasts, member)
        chunk = self._chunks[at] if at < len(self._chunks) else []
        inside = bisect_left(chunk, member)
        if inside == len(chunk) or chunk[inside] != member:
            raise KeyError(member)
        self._size -= 1
        del chunk[inside]
        if not chunk:
            del self._chunks[at], self._lasts[at]
        elif inside == len(chunk):
            self._lasts[at] = chunk[-1]

    def first(self, start: bytes, stop: bytes) -> bytes | None:
        """The first member that is ``start`` or behind it and before ``stop``."""
        at = bisect_left(self._lasts, start)
        if at == len(self._lasts):
            return None
        chunk = self._chunks[at]
        member = chunk[bisect_left(chunk, start)]
        return member if member < stop else None

    def last(self, start: bytes, stop: bytes) -> bytes | None:
        """The last member that is before ``stop`` and not before ``start``."""
        at, inside = self._position(stop)
        if inside == 0:
            if at == 0:
                return None
            member = self._lasts[at - 1]
        else:
            member = self._chunks[at][inside - 1]
        return member if member >= start else None

    def between(
        self, start: bytes, stop: bytes, limit: int | None = None
    ) -> list[bytes]:
        """The members from ``start`` to before ``stop``, at most ``limit`` of them."""
        at, inside = self._position(start)
        end, end_inside = self._position(stop)
        if at >= len(self._chunks) or (end, end_inside) <= (at, inside):
            return []
        if at == end:
            return self._chunks[at][inside:end_inside][:limit]
        found = self._chunks[at][inside:]
        while (at := at + 1) < end and (limit is None or len(found) < limit):
            found += self._chunks[at]
        if end < len(self._chunks):
            found += self._chunks[end][:end_inside]
        return found if limit is None else found[:limit]

    def count(self, start: bytes, stop: bytes) -> int:
        """How many members there are from ``start`` to before ``stop``."""
        at, inside = self._position(start)
        end, end_inside = self._position(stop)
        if (end, end_inside) <= (at, inside):
            return 0
        between = sum(map(len, self._chunks[at:end]))
        return between - inside + end_inside

    def _position(self, point: bytes) -> tuple[int, int]:
        """The list and the place in it where ``point`` is or would be."""
        at = bisect_left(self._lasts, point)
        if at == len(self._lasts):
            return at, 0
        return at, bisect_left(self._chunks[at], point)
