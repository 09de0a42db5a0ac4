"""The scripts of this folder, read once. A script is one atomic step on the server.

Each touches only the keys that are declared to it, which lie in one slot, and may be
run again: it then finds what it did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_FOLDER: Final = files(__package__) / "scripts"
_SHARED: Final = "shared"


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, and the name under which a server remembers it."""

    name: str
    body: bytes
    sha: str


@dataclass(frozen=True, slots=True)
class Call:
    """One run of a script."""

    script: Script
    keys: tuple[str, ...]
    arguments: tuple[str | bytes | int, ...]

    def words(self) -> tuple[str | bytes | int, ...]:
        """Return the command that runs it by its name."""
        return (
            "EVALSHA", self.script.sha, len(self.keys), *self.keys, *self.arguments
        )  # fmt: skip

    def whole(self) -> tuple[str | bytes | int, ...]:
        """Return the command that runs it by its text; the server then remembers it."""
        return (
            "EVAL", self.script.body, len(self.keys), *self.keys, *self.arguments
        )  # fmt: skip


def _read(name: str) -> Script:
    # A head like this makes the server refuse a script before it begins, instead of in
    # its middle: when memory is full, on a replica, or for a key of another slot.
    text = "#!lua\n"
    for part in (_SHARED, name):
        text += (_FOLDER / f"{part}.lua").read_text(encoding="utf-8")
    body = text.encode()
    sha = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    return Script(name, body, sha)


SCRIPTS: Final = {
    name: _read(name)
    for name in sorted(
        entry.name.removesuffix(".lua")
        for entry in _FOLDER.iterdir()
        if entry.name.endswith(".lua")
    )
    if name != _SHARED
}


def call(
    name: str, keys: Sequence[str], arguments: Sequence[str | bytes | int]
) -> Call:
    """Return a run of the script `name`.lua."""
    return Call(SCRIPTS[name], tuple(keys), tuple(arguments))
