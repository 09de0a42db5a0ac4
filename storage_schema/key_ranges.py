"""Key ranges: ``IDBKeyRange``, and "convert a value to a key range"."""

from __future__ import annotations

from typing import Final, TypeAlias

from storage_schema.errors import DataError
from storage_schema.key_decoding import decode
from storage_schema.keys import BEHIND, encode
from storage_schema.values import UNDEFINED, JsKey, Undefined

Span: TypeAlias = tuple[bytes, bytes]
"""From the first encoding inside (or where it would be) to just behind the last one."""

EVERYTHING: Final[Span] = (b"", BEHIND)


class KeyRange:
    """A range of keys; made by ``only``, ``bound``, ``lower_bound``, ``upper_bound``.

    All of them raise ``DataError`` for an invalid key. Ranges cannot be changed.
    """

    __slots__ = ("_lower", "_upper", "lower_open", "span", "upper_open")

    def __init__(
        self,
        lower: bytes | None,
        upper: bytes | None,
        *,
        lower_open: bool = False,
        upper_open: bool = False,
    ) -> None:
        self._lower, self._upper = lower, upper
        self.lower_open, self.upper_open = lower_open, upper_open
        start, stop = EVERYTHING
        if lower is not None:
            start = lower + BEHIND if lower_open else lower
        if upper is not None:
            stop = upper if upper_open else upper + BEHIND
        self.span: Span = (start, stop)

    @classmethod
    def only(cls, key: object) -> KeyRange:
        """The range of one key."""
        encoded = encode(key)
        return cls(encoded, encoded)

    @classmethod
    def bound(
        cls,
        lower: object,
        upper: object,
        lower_open: bool = False,
        upper_open: bool = False,
    ) -> KeyRange:
        """From ``lower`` to ``upper``; raises ``DataError`` if nothing can be inside."""
        first, last = encode(lower), encode(upper)
        if first > last or (first == last and (lower_open or upper_open)):
            raise DataError(f"no key lies between {lower!r} and {upper!r}")
        return cls(first, last, lower_open=lower_open, upper_open=upper_open)

    @classmethod
    def lower_bound(
        cls,
        key: object,
        open: bool = False,
    ) -> KeyRange:
        """All from ``key`` on."""
        return cls(encode(key), None, lower_open=open, upper_open=True)

    @classmethod
    def upper_bound(
        cls,
        key: object,
        open: bool = False,
    ) -> KeyRange:
        """All up to ``key``."""
        return cls(None, encode(key), lower_open=True, upper_open=open)

    @property
    def lower(self) -> JsKey | Undefined:
        """The lower end, or UNDEFINED."""
        return UNDEFINED if self._lower is None else decode(self._lower)

    @property
    def upper(self) -> JsKey | Undefined:
        """The upper end, or UNDEFINED."""
        return UNDEFINED if self._upper is None else decode(self._upper)

    @property
    def is_bounded(self) -> bool:
        """Whether the range ends on both sides."""
        return self._lower is not None and self._upper is not None

    def includes(self, key: object) -> bool:
        """Whether ``key`` is inside; raises ``DataError`` for an invalid key."""
        return self.span[0] <= encode(key) < self.span[1]

    def __repr__(self) -> str:
        left, right = "(" if self.lower_open else "[", ")" if self.upper_open else "]"
        return f"KeyRange{left}{self.lower!r}, {self.upper!r}{right}"


def span_of(query: object, *, required: bool = False) -> tuple[Span, bool]:
    """The encodings that a query asks for, and whether it is bounded on both sides.

    None and UNDEFINED ask for everything, or raise ``DataError`` if ``required``.
    """
    if isinstance(query, KeyRange):
        return query.span, query.is_bounded
    if query is None or query is UNDEFINED:
        if required:
            raise DataError("a key or a key range is needed here")
        return EVERYTHING, False
    encoded = encode(query)
    return (encoded, encoded + BEHIND), True
