"""One life of a worker: its tasks, its timers, and what it asked of the world.

The worker's code never runs by itself: each call of `advance`, `timer`, `answer` is one
turn, and gives nothing back but effects. Turns are chosen by whoever drives the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extension_harness.model.disk import Disk
from extension_harness.model.effects import (
    Effect,
    PageRequest,
    StartTimer,
    StopTimer,
)
from extension_harness.model.errors import ModelMisuseError, PageError, SilenceError
from extension_harness.model.steps import (
    AskPage,
    Behaviour,
    Digest,
    Join,
    Json,
    Local,
    OpenStore,
    Pause,
    Step,
    Transact,
    Value,
    Within,
)

READY = (Transact, OpenStore, Local, Digest)
"""Steps that can be done whenever the driver chooses."""


class Task:
    """One behaviour that runs: at `step` now, or over."""

    def __init__(self, name: str, behaviour: Behaviour[Any]) -> None:
        self.name = name
        self.step: Step | None = None
        self.is_over = False
        self.result: Value = None
        self.error: Exception | None = None
        self.behaviour = behaviour

    def __repr__(self) -> str:
        at = "over" if self.is_over else repr(getattr(self.step, "name", self.step))
        return f"<Task {self.name} at {at}>"


class Life:
    """The loop of one worker."""

    def __init__(
        self,
        disk: Disk,
        now: Callable[[], int],
        random: Callable[[], float],
        steady: Callable[[], float] | None = None,
    ) -> None:
        self.disk = disk
        self.now = now
        self.steady: Callable[[], float] = steady or now
        """What durations are measured by: `now` jumps when the clock is put right."""
        self.random = random
        self.opened: Callable[[], None] = lambda: None
        """Told when the store is open that was not."""
        self.not_opened: Callable[[Exception], None] = lambda _error: None
        self._effects: list[Effect] = []
        self._ready: dict[Task, None] = {}
        self._joins: list[Task] = []
        self._timers: dict[int, Callable[[], None]] = {}
        self._asked: dict[int, tuple[Task, int]] = {}
        self._next_id = 0

    def runnable(self) -> list[Task]:
        """Tasks whose step can be done now, the longest waiting first."""
        return list(self._ready)

    def drain(self) -> list[Effect]:
        """What was asked of the world since the last call."""
        effects, self._effects = self._effects, []
        return effects

    def do(self, effect: Effect) -> None:
        """Asks something of the world."""
        self._effects.append(effect)

    def new_id(self) -> int:
        """A number that this life has not used yet."""
        self._next_id += 1
        return self._next_id

    def after(self, callback: Callable[[], None], ms: float) -> int:
        """Calls back after so many ms of this life; gives the timer."""
        timer = self.new_id()
        self._timers[timer] = callback
        self.do(StartTimer(timer, ms))
        return timer

    def cancel(self, timer: int | None) -> None:
        """Forgets a timer; nothing happens where there is none."""
        if timer is not None and self._timers.pop(timer, None) is not None:
            self.do(StopTimer(timer))

    def fire(self, timer: int) -> None:
        """A timer is due; one that was cancelled changes nothing."""
        callback = self._timers.pop(timer, None)
        if callback is not None:
            callback()

    def spawn(
        self,
        name: str,
        behaviour: Behaviour[Any],
        failed: Callable[[Exception], object] | None = None,
    ) -> Task:
        """Starts a task, at once up to its first step.

        `failed` is told of what it raises; without it that stays in the task.
        """
        task = Task(name, _reported(behaviour, failed))
        self._continue(task, None, None)
        return task

    def advance(self, task: Task) -> None:
        """Does one step of a task that can run, and runs it up to its next.

        Raises:
            ModelMisuseError: the task is over, or waits for something else.
        """
        if task not in self._ready:
            msg = f"{task!r} cannot run now; take one of `runnable()`."
            raise ModelMisuseError(msg)
        del self._ready[task]
        try:
            result = self._perform(task.step)
        except Exception as error:  # noqa: BLE001 - raised into the task
            self._continue(task, None, error)
        else:
            self._continue(task, result, None)

    def answer(self, request: int, response: Json | None) -> None:
        """A tab answered; None: there is nobody in it. Late answers change nothing."""
        asked = self._asked.pop(request, None)
        if asked is None:
            return
        task, timer = asked
        self.cancel(timer)
        error = _fault_in(response)
        self._continue(task, None if error else response, error)

    def _perform(self, step: Step | None) -> Value:
        match step:
            case Transact(call=call):
                self._be_open()
                return self.disk.run(call)
            case OpenStore():
                return self._be_open()
            case Local(call=do):
                return do(self.disk)
            case _:
                return None

    def _be_open(self) -> None:
        if self.disk.is_open:
            return
        try:
            self.disk.connection()
        except Exception as error:
            self.not_opened(error)
            raise
        self.opened()

    def _continue(self, task: Task, result: Value, error: Exception | None) -> None:
        try:
            if error is not None:
                task.step = task.behaviour.throw(error)
            else:
                task.step = task.behaviour.send(result)
        except StopIteration as end:
            self._over(task, end.value, None)
        except Exception as raised:  # noqa: BLE001 - kept: who joins the task looks
            self._over(task, None, raised)
        else:
            self._wait(task)

    def _over(self, task: Task, result: Value, error: Exception | None) -> None:
        task.step, task.is_over = None, True
        task.result, task.error = result, error
        waiting = [each for each in self._joins if _is_joined(each)]
        for each in waiting:
            # One that went on may have ended others, and taken who joined them along.
            if each in self._joins:
                self._joins.remove(each)
                self._continue(each, None, None)

    def _wait(self, task: Task) -> None:
        step = task.step
        if isinstance(step, READY):
            self._ready[task] = None
        elif isinstance(step, Pause):
            self.after(lambda: self._continue(task, None, None), step.ms)
        elif isinstance(step, AskPage):
            self._ask(task, step)
        elif isinstance(step, Within):
            self._wait_within(task, step)
        elif _is_joined(task):
            self._continue(task, None, None)
        else:
            self._joins.append(task)

    def _wait_within(self, task: Task, step: Within) -> None:
        """Whichever comes first goes on; the other is forgotten."""
        is_late = False

        def late() -> None:
            nonlocal is_late
            is_late = True
            self._continue(task, False, None)

        timer = self.after(late, step.ms)

        def watch() -> Behaviour[None]:
            yield Join((step.task,))
            if not is_late:
                self.cancel(timer)
                self._continue(task, True, None)

        self.spawn(f"watch {step.task.name}", watch())

    def _ask(self, task: Task, step: AskPage) -> None:
        request = self.new_id()

        def late() -> None:
            self._asked.pop(request, None)
            error = SilenceError("page_timeout", "The page did not answer in time.")
            self._continue(task, None, error)

        self._asked[request] = (task, self.after(late, step.timeout_ms))
        self.do(PageRequest(request, step.tab_id, step.kind, step.body))


def _is_joined(task: Task) -> bool:
    return isinstance(task.step, Join) and all(t.is_over for t in task.step.tasks)


def _fault_in(response: Json | None) -> PageError | None:
    if response is None:
        return PageError("page_gone", "The page is not reachable.")
    fault = response.get("error")
    if fault:
        return PageError(str(fault.get("code")), str(fault.get("message")))
    if not response.get("answer"):
        return PageError("page_gone", "The page did not answer.")
    return None


def _reported(
    behaviour: Behaviour[Any], failed: Callable[[Exception], object] | None
) -> Behaviour[Any]:
    """The same, with its failure told."""
    try:
        return (yield from behaviour)
    except Exception as error:
        if failed is None:
            raise
        failed(error)
        return None
