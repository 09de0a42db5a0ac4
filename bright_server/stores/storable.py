"""What no store can keep, said in the store's own words. No I/O.

It is refused before anything is reserved, and on every store alike: what is frozen once
and cannot be written by a later step would be a hole for ever, before which every
reader stops (MS-21).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Final, cast

from bright_server.commit.records import (
    AuthenticatedSend,
    FrozenDelivery,
    ReserveCandidate,
)
from bright_server.errors import StoreUnavailable
from bright_server.wire.text import is_storable

# Redis' scripts count in doubles; beyond this they could not tell two numbers apart.
LARGEST_NUMBER: Final = 2**53
# An index entry of PostgreSQL takes so much, and not much more.
LONGEST_ID_BYTES: Final = 2_048

# Annotations are text here; what is neither is text, or a name for some of it.
_KINDS: Final[dict[str, type]] = {"int": int, "bool": bool}


def check_storable(
    request: AuthenticatedSend, delivery: FrozenDelivery, candidate: ReserveCandidate
) -> None:
    """Refuse what a later step of the commit could not write.

    Raises:
        StoreUnavailable: and where it stands; nothing was done.
    """
    for part in (request, delivery, candidate):
        for path, kind, value in _leaves(part, type(part).__name__):
            fault = _fault_of(kind, value)
            if fault is not None:
                raise StoreUnavailable("reserve a message", f"{path} {fault}")
    if len(candidate.message_id.encode()) > LONGEST_ID_BYTES:
        raise StoreUnavailable(
            "reserve a message", f"its id has more than {LONGEST_ID_BYTES} bytes"
        )


def _fault_of(kind: type, value: object) -> str | None:
    """Say what is wrong with a value that has to be of this kind, or None.

    Python checks no record's types. A truth or a fraction in a number's place would be
    reserved, and by one store or another never recorded, or never read again.
    """
    if value is None:
        return None
    if type(value) is not kind:
        return f"is {value!a}, and not of type {kind.__name__}"
    if isinstance(value, str) and not is_storable(value):
        return "holds NUL or half a surrogate pair"
    if isinstance(value, int) and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return "is too large a number"
    return None


def _leaves(value: object, path: str) -> Iterator[tuple[str, type, object]]:
    """Yield every value of a record: where it stands, what it must be, what it is."""
    assert is_dataclass(value)  # noqa: S101 - the signature says so
    for field in fields(value):
        inner, where = getattr(value, field.name), f"{path}.{field.name}"
        if is_dataclass(inner):
            yield from _leaves(inner, where)
        elif isinstance(inner, tuple):  # mentions
            for index, item in enumerate(cast("tuple[object, ...]", inner)):
                yield f"{where}.{index}", str, item
        else:
            yield where, _KINDS.get(str(field.type).partition(" ")[0], str), inner


@contextmanager
def storable(doing: str) -> Iterator[None]:
    """Refuse text that is none: half a surrogate pair cannot be written (MS-30).

    Raises:
        StoreUnavailable: and nothing was done.
    """
    try:
        yield
    except UnicodeError as error:
        raise StoreUnavailable(doing, "it holds text that cannot be kept") from error
