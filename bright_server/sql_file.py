"""Named statements in a file of SQL: a line `-- name: x` opens the statement x."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

_MARK: Final = "-- name: "


def statements_in(package: str, name: str) -> dict[str, str]:
    """Return the statements of a package's file by their names, without comments."""
    text = (files(package) / name).read_text(encoding="utf-8")
    statements = {}
    for block in text.split(f"\n{_MARK}")[1:]:
        title, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        statements[title.strip()] = "\n".join(lines).strip()
    return statements
