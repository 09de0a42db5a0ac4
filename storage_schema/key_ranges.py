"""Key ranges: ``IDBKeyRange``, and "convert a value to a key range"."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from storage_schema.conversions import is_truthy
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
        lower_open: object = False,
        upper_open: object = False,
    ) -> KeyRange:
        """From ``lower`` to ``upper``; ``DataError`` if nothing can be inside."""
        first, last = encode(lower), encode(upper)
        after, before = is_truthy(lower_open), is_truthy(upper_open)
        if first > last or (first == last and (after or before)):
            raise DataError(f"no key lies between {lower!r} and {upper!r}")
        return cls(first, last, lower_open=after, upper_open=before)

    @classmethod
    def lower_bound(
        cls,
        key: object,
        open: object = False,  # noqa: A002 - as in IDBKeyRange
    ) -> KeyRange:
        """All from ``key`` on."""
        return cls(encode(key), None, lower_open=is_truthy(open), upper_open=True)

    @classmethod
    def upper_bound(
        cls,
        key: object,
        open: object = False,  # noqa: A002 - as in IDBKeyRange
    ) -> KeyRange:
        """All up to ``key``."""
        return cls(None, encode(key), lower_open=True, upper_open=is_truthy(open))

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


class Query(NamedTuple):
    """What a request asks for: encodings from ``start`` to before ``stop``."""

    start: bytes
    stop: bytes
    is_bounded: bool


def query_for(query: object, *, required: bool = False) -> Query:
    """The algorithm "convert a value to a key range".

    None and UNDEFINED ask for everything, or raise ``DataError`` if ``required``.
    """
    if isinstance(query, KeyRange):
        return Query(*query.span, query.is_bounded)
    if query is None or query is UNDEFINED:
        if required:
            raise DataError("a key or a key range is needed here")
        return Query(*EVERYTHING, is_bounded=False)
    encoded = encode(query)
    return Query(encoded, encoded + BEHIND, is_bounded=True)
