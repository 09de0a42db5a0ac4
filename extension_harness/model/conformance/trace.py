"""What was recorded of the real extension, by life, in the order of its happening."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from extension_harness.model.steps import Json

INPUTS = frozenset(
    {
        "boot",
        "timer",
        "done",
        "opened",
        "returned",
        "answered",
        "alarm",
        "configured",
        "message",
        "open",
        "frame",
        "closed",
    }
)
"""Kinds of entries that are inputs; every other one is what came of the one before."""


@dataclass(frozen=True)
class Turn:
    """One input, or several at once, and in order what came of them."""

    came: tuple[Json, ...]
    out: tuple[Json, ...]


@dataclass(frozen=True)
class RecordedLife:
    """One life: the disk as it began, and its turns. It ended after the last."""

    disk: Json | None
    turns: tuple[Turn, ...]


def lives_of(lines: Iterable[str]) -> list[RecordedLife]:
    """The lives of a recording, oldest first.

    Ones without their beginning are left out: they began before anybody listened.
    """
    entries: dict[str, list[Json]] = {}
    for line in lines:
        entry = json.loads(line)
        entries.setdefault(entry["life"], []).append(entry)
    return [_life(each) for each in entries.values() if each[0]["kind"] == "boot"]


def _life(entries: list[Json]) -> RecordedLife:
    entries.sort(key=lambda entry: int(entry["at"]))
    disk = next((each["records"] for each in entries if each["kind"] == "disk"), None)
    turns: list[tuple[list[Json], list[Json]]] = []
    for entry in entries:
        if entry["kind"] in INPUTS and entry.get("isJoined"):
            turns[-1][0].append(entry)
        elif entry["kind"] in INPUTS:
            turns.append(([entry], []))
        elif entry["kind"] != "disk":
            turns[-1][1].append(entry)
    return RecordedLife(
        disk, tuple(Turn(tuple(came), tuple(out)) for came, out in turns)
    )
