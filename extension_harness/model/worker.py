"""One life of the extension's service worker, driven from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from extension_harness.model.background import Background
from extension_harness.model.configuration import random_id
from extension_harness.model.disk import Disk
from extension_harness.model.effects import Effect
from extension_harness.model.events import Event
from extension_harness.model.steps import Json
from extension_harness.model.tasks import Life, Task


class ModelWorker:
    """What the extension does between one start of its worker and its death.

    Death is to forget the object, at any time: only the `disk` stays. Nothing happens
    by itself; every method is one turn of the worker's loop and gives, in order, what
    the worker asked of the world in it. `now` is in ms since the epoch and `steady`, by
    which durations are measured, in ms that only go on (none: `now`); `random` is in
    [0, 1). `new_id` names this installation at its first start; else `random` does.
    Equal calls give equal effects.
    """

    def __init__(
        self,
        disk: Disk,
        *,
        boot_id: str,
        random: Callable[[], float],
        now: Callable[[], int],
        steady: Callable[[], float] | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self.disk = disk
        self.boot_id = boot_id
        self._life = Life(disk, now, random, steady)
        named = new_id or (lambda: random_id(random))
        self._background = Background(self._life, boot_id, named)

    def wake(self, event: Event) -> list[Effect]:
        """Something reaches the worker."""
        self._background.happens(event)
        return self._life.drain()

    def runnable(self) -> Sequence[Task]:
        """The tasks whose next step can be done now, the longest waiting first.

        The order among them is the driver's choice.
        """
        return self._life.runnable()

    def advance(self, task: Task) -> list[Effect]:
        """Does one step of a task, a transaction say, and runs it up to its next."""
        self._life.advance(task)
        return self._life.drain()

    def page_answered(self, request: int, response: Json | None) -> list[Effect]:
        """A tab answered a `PageRequest`; None: nobody in it hears.

        `{"pageId": …, "answer": {…}}` or `{"error": {"code": …, "message": …}}`.
        """
        self._life.answer(request, response)
        return self._life.drain()

    def timer(self, timer: int) -> list[Effect]:
        """A timer that was started and not stopped is due."""
        self._life.fire(timer)
        return self._life.drain()

    @property
    def background(self) -> Background:
        """The parts of the worker, to look at."""
        return self._background
