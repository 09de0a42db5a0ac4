"""One at a time for each name, in the order of asking (background/turns.js)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from extension_harness.model.steps import Behaviour, Join
from extension_harness.model.tasks import Life, Task

T = TypeVar("T")


class Turns:
    """Each waits until all who asked before are done, however they ended."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._last: dict[str, Task] = {}

    def take(self, name: str, work: Callable[[], Behaviour[T]]) -> Behaviour[T]:
        """Gives what the work gives, and raises what it raises."""
        before = self._last.get(name)

        def turn() -> Behaviour[T]:
            if before is not None:
                yield Join((before,))
            return (yield from work())

        task = self._life.spawn(f"turn {name}", turn())
        self._last[name] = task
        yield Join((task,))
        if self._last.get(name) is task:
            del self._last[name]
        if task.error is not None:
            raise task.error
        result: T = task.result
        return result
