"""Cursors: "iterate a cursor"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from storage_schema.conversions import enforce_range
from storage_schema.errors import (
    DataError,
    InvalidAccessError,
    InvalidStateError,
    JsTypeError,
)
from storage_schema.key_decoding import decode
from storage_schema.key_ranges import Query
from storage_schema.keys import BEHIND, encode
from storage_schema.lookahead import Lookahead
from storage_schema.requests import Request
from storage_schema.values import UNDEFINED, JsKey, JsValue, Undefined

if TYPE_CHECKING:
    from storage_schema.source import Source

DIRECTIONS: Final = ("next", "nextunique", "prev", "prevunique")
_MOST: Final = 2**32 - 1


class Cursor:
    """A place in a store or an index that moves in one direction.

    The same cursor comes back from each move; it has no place while a move is on its
    way and none after the end. It keeps its place whatever is written meanwhile; what
    is put ahead of it is met, but for what ``storage_schema.lookahead`` says.
    """

    __slots__ = (
        "_entry",
        "_found",
        "_has_value",
        "_last_move",
        "_lookahead",
        "_operation",
        "_query",
        "_value",
        "direction",
        "source",
    )

    def __init__(
        self,
        source: Source,
        query: Query,
        direction: str,
        operation: str,
    ) -> None:
        """For ``Source`` alone."""
        self.source = source
        self.direction = direction
        self._query = query
        self._operation = operation
        self._entry = b""
        self._last_move: Request[Cursor | None] | None = None
        self._lookahead = Lookahead(forward=self._is_forward)
        self._has_value = False
        self._found: tuple[bytes, bytes] | None = None
        self._value: JsValue | Undefined = UNDEFINED

    @property
    def key(self) -> JsKey | Undefined:
        """The key at this place, UNDEFINED at the end."""
        return UNDEFINED if self._found is None else decode(self._found[0])

    @property
    def primary_key(self) -> JsKey | Undefined:
        """The record's key in its store, UNDEFINED at the end."""
        return UNDEFINED if self._found is None else decode(self._found[1])

    @property
    def value(self) -> JsValue:
        """The record's value, the same object until the cursor moves.

        UNDEFINED at the end and in a cursor of keys alone.
        """
        return self._value

    @property
    def has_values(self) -> bool:
        """Whether this is a cursor of values and not of keys alone."""
        return self._operation == "open_cursor"

    def advance(self, count: object) -> Request[Cursor | None]:
        """Move by ``count`` places; raises ``JsTypeError`` unless that is above 0."""
        steps = enforce_range(count, _MOST, "the count of advance")
        if steps == 0:
            raise JsTypeError("advance needs a count above 0")
        self._check()
        return self._move(steps, b"", b"")

    def continue_(self, key: object = UNDEFINED) -> Request[Cursor | None]:
        """Move to the next place, or to the first at or behind ``key``."""
        self._check()
        if key is None or key is UNDEFINED:
            return self._move(0, b"", b"")
        wanted = encode(key)
        here = self._here()[0]
        if wanted <= here if self._is_forward else wanted >= here:
            raise DataError(f"{key!r} does not lie ahead of the cursor")
        return self._move(-1, wanted, b"")

    def continue_primary_key(
        self, key: object, primary_key: object
    ) -> Request[Cursor | None]:
        """Move to the first place at or behind this key and primary key of an index."""
        self.source.check()
        if not self.source.is_index:
            raise InvalidAccessError("only a cursor of an index has two keys")
        if self.direction.endswith("unique"):
            raise InvalidAccessError("a unique cursor cannot stop inside a key")
        self._check()
        wanted = encode(key), encode(primary_key)
        here = self._here()
        if wanted <= here if self._is_forward else wanted >= here:
            raise DataError(f"{key!r}, {primary_key!r} does not lie ahead")
        return self._move(-1, *wanted)

    def update(self, value: object) -> Request[JsKey]:
        """Put a value in place of the record; its in-line key must stay the same."""
        self._check_writable()
        return self.source.store.put_at(self._here()[1], value)

    def delete(self) -> Request[Undefined]:
        """Delete the record; the cursor keeps its place."""
        self._check_writable()
        return self.source.store.delete_at(self._here()[1])

    def begin(self) -> Cursor | None:
        """Go to the first place. For ``Source`` alone."""
        self._lookahead.open(self.source.transaction.ran)
        return self._iterate(self._operation, 1, b"", b"")

    def next_for_walk(self) -> Cursor | None:
        """Continue unless that was done already. For ``Source.walk`` alone."""
        move = self._last_move or self.continue_()
        self._last_move = None
        return move.result

    @property
    def _is_forward(self) -> bool:
        return self.direction.startswith("next")

    def _here(self) -> tuple[bytes, bytes]:
        if self._found is None:
            raise InvalidStateError("the cursor is at the end")
        return self._found

    def _check(self) -> None:
        self.source.transaction.check_active()
        self.source.check()
        if not self._has_value:
            raise InvalidStateError("the cursor is moving, or at the end")

    def _check_writable(self) -> None:
        self.source.transaction.check_active()
        self.source.store.check_writable()
        self._check()
        if not self.has_values:
            raise InvalidStateError("a cursor of keys cannot write")

    def _move(self, steps: int, key: bytes, primary: bytes) -> Request[Cursor | None]:
        tx = self.source.transaction
        request: Request[Any] = Request(tx, self._go, steps, key, primary)
        tx.add(request)
        self._has_value = False
        self._last_move = request
        return request

    def _go(self, steps: int, key: bytes, primary: bytes) -> Cursor | None:
        """Do a move: ``steps`` as ``Lookahead.has_ended`` says."""
        ran = self.source.transaction.ran
        if self._lookahead.has_ended(ran, steps, self._positions_ahead):
            steps = 0
        else:
            steps = steps if steps > 0 else 1
        return self._iterate("continue", steps, key, primary)

    def _positions_ahead(self, most: int) -> int:
        """How many positions follow this one, counted up to ``most``."""
        entry: bytes | None = self._entry
        for number in range(most):
            entry = self._next(entry or b"", b"", b"")
            if entry is None:
                return number
        return most

    def _iterate(
        self, operation: str, steps: int, key: bytes, primary: bytes
    ) -> Cursor | None:
        entry: bytes | None = self._entry if steps else None
        for _ in range(steps):
            entry = self._next(entry or b"", key, primary)
            if entry is None:
                break
        self.source.report(operation, int(entry is not None), self._query)
        if entry is None:
            self._found, self._value = None, UNDEFINED
            return None
        self._entry = entry
        self._found = self.source.split(entry)
        if self.has_values:
            value, copier = self.source.records.records[self._found[1]]
            self._value = copier(value)
        self._has_value = True
        return self

    def _next(self, entry: bytes, key: bytes, primary: bytes) -> bytes | None:
        """The entry that follows one, at or behind the keys that were asked for."""
        start, stop, _ = self._query
        entries, is_unique = self.source.entries, self.direction.endswith("unique")
        here, here_primary = self.source.split(entry) if entry else (b"", b"")
        if self._is_forward:
            if entry:
                behind = here if is_unique else here + here_primary
                start = max(start, behind + BEHIND)
            return entries.first(max(start, key + primary), stop)
        if entry:
            stop = min(stop, here if is_unique else entry)
        if key:
            stop = min(stop, key + primary + BEHIND)
        found = entries.last(start, stop)
        if found is None or not is_unique:
            return found
        return entries.first(self.source.split(found)[0], stop)
