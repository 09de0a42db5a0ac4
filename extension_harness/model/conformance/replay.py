"""A recording of the real extension, kills included, lived again by the model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from extension_harness.model.conformance.errors import DivergenceError
from extension_harness.model.conformance.life import ReplayedLife
from extension_harness.model.conformance.order import Order, in_some_order
from extension_harness.model.conformance.picture import (
    Picture,
    difference,
    picture,
    restored,
    twin_of,
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
        found = pictures[at + 1] if at + 1 < len(pictures) else last
        taken, disk = in_some_order(partial(_lived, number, life, disk, found))
        turns += taken
    if disk is not None and (text := difference(picture(disk), last)):
        raise DivergenceError(f"another disk in the end: {text}", len(lives), 0, "end")
    return turns


def _lived(
    number: int, life: RecordedLife, before: Disk, found: Picture, order: Order
) -> tuple[int, Disk]:
    """The turns that were taken, and the disk that is left."""
    replayed = ReplayedLife(number, twin_of(before), order)
    return replayed.live(life), replayed.killed(found)
