"""What a read request did, told to whoever counts reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Read:
    """One read request that ran.

    ``bounded`` says whether the query ended on both sides, ``limit`` is the count that
    was asked for (None: no limit), ``records`` how many records it gave. A cursor's
    opening and each of its moves is a read of its own, at most one record each;
    a count reads none.
    """

    store: str
    index: str | None
    operation: str
    bounded: bool
    limit: int | None
    records: int


OnRead: TypeAlias = Callable[[Read], object]
