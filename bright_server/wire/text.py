"""JSON values as text that is always the same, and what text can be stored or shown.

No I/O.
"""

from __future__ import annotations

import json
from typing import Final, cast

_CANONICAL: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)
_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def canonical_json(value: object) -> str:
    """Return the one spelling of a JSON value: sorted keys, no spaces, plain Unicode.

    Raises:
        ValueError: for what JSON cannot say (NaN, an infinite number).
    """
    return _CANONICAL.encode(value)


def compact_json(value: object) -> str:
    """Return JSON on one line, keys in the order given."""
    return _COMPACT.encode(value)


def parse_json(text: str) -> object:
    """Return the value of JSON that this server itself wrote."""
    return cast("object", json.loads(text))


def unstorable_path(value: object) -> str | None:
    """Return where a JSON value holds a lone surrogate or NUL, as a dotted path."""
    pending: list[tuple[str, object]] = [("", value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, str):
            if not is_storable(item):
                return path
        elif isinstance(item, dict):
            for key, part in item.items():
                if not is_storable(key):
                    return path
                pending.append((f"{path}.{key}" if path else key, part))
        elif isinstance(item, list):
            pending.extend((f"{path}.{i}", part) for i, part in enumerate(item))
    return None


def shown(text: str) -> str:
    r"""Return a text on one line that does nothing to a terminal, for people.

    What is not printable is spelled as an escape, as `\x1b` or `\n`.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def is_storable(text: str) -> bool:
    """Say whether a text holds no NUL and no lone surrogate."""
    if "\x00" in text:
        return False
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
