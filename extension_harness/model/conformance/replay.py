"""A recording of the real extension, kills included, lived again by the model."""

from __future__ import annotations

from collections.abc import Sequence

from extension_harness.model.conformance.errors import DivergenceError
from extension_harness.model.conformance.life import ReplayedLife
from extension_harness.model.conformance.picture import (
    Picture,
    difference,
    picture,
    restored,
)
from extension_harness.model.conformance.trace import RecordedLife
from extension_harness.model.disk import Disk


def replay(lives: Sequence[RecordedLife], last: Picture) -> int:
    """Lives all of them on one disk, which in the end has to hold `last`.

    Gives the number of turns that were taken.

    Raises:
        DivergenceError: what the model did otherwise, in which life, at which turn.
    """
    # One that was killed before it had looked at its disk did nothing to it.
    looked = [(n, life) for n, life in enumerate(lives) if life.disk is not None]
    pictures: list[Picture] = [life.disk for _, life in looked if life.disk is not None]
    disk: Disk | None = None
    turns = 0
    for at, (number, life) in enumerate(looked):
        if disk is None:
            disk = restored(pictures[at])
        if text := difference(picture(disk), pictures[at]):
            raise DivergenceError(
                f"another disk at its start: {text}", number, 0, "boot"
            )
        replayed = ReplayedLife(number, disk)
        turns += replayed.live(life)
        disk = replayed.killed(pictures[at + 1] if at + 1 < len(pictures) else last)
    if disk is not None and (text := difference(picture(disk), last)):
        raise DivergenceError(f"another disk in the end: {text}", len(lives), 0, "end")
    return turns
