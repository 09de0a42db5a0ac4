"""What no store can keep, said in the store's own words. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bright_server.errors import StoreUnavailable


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
