"""Writes into the ledgers beside the messages: a fault of one is its own."""

from __future__ import annotations

from typing import TypeVar

from extension_harness.model.errors import StoreError
from extension_harness.model.steps import Behaviour
from extension_harness.model.text import utf16_slice, well_formed

_OF_THE_STORE = ("store_full", "store_blocked", "store_waiting", "store_newer")

T = TypeVar("T")


def written_apart(code: str, what: str, write: Behaviour[T]) -> Behaviour[T]:
    """Gives what the write gives.

    Raises:
        StoreError: of this code, or what the whole store suffers from.
    """
    try:
        return (yield from write)
    except Exception as cause:
        if isinstance(cause, StoreError) and cause.code in _OF_THE_STORE:
            raise
        msg = f"{what} were not recorded ({cause}). Messages are not affected."
        raise StoreError(code, msg) from cause


def bounded(text: str, most: int) -> str:
    """The beginning of a text, as a server can store it."""
    return well_formed(utf16_slice(text, most)).replace("\0", "�")


def is_text(value: object) -> bool:
    """Text that is not empty."""
    return isinstance(value, str) and value != ""
