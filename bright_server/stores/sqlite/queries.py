"""The named statements of `queries.sql`, read once."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

_MARK: Final = "-- name: "


def _read() -> dict[str, str]:
    text = (files(__package__) / "queries.sql").read_text(encoding="utf-8")
    statements = {}
    for block in text.split(f"\n{_MARK}")[1:]:
        name, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        statements[name.strip()] = "\n".join(lines).strip()
    return statements


SQL: Final[dict[str, str]] = _read()
