"""Names in the order that the specification gives them: by UTF-16 code unit."""

from __future__ import annotations

from collections.abc import Iterable


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names sorted as a DOMStringList of the API has them."""
    return tuple(
        sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    )
