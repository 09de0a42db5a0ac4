"""A call that can be cut off at each place where it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Waits(Generic[T]):
    """Makes a call when it is awaited, and counts, from 1, where the call waits.

    `begun` is told as a wait begins, the question being on its way; `ended` once it is
    over, before the call goes on with what it has learnt.
    """

    def __init__(
        self,
        call: Callable[[], Awaitable[T]],
        *,
        begun: Callable[[int], None] = lambda _: None,
        ended: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._call = call
        self._begun = begun
        self._ended = ended

    def __await__(self) -> Generator[Any, Any, T]:
        """Make the call."""
        inner = self._call().__await__()
        go_on: Callable[[], Any] = partial(next, inner)
        number = 0
        while True:
            try:
                awaited = go_on()
            except StopIteration as done:
                result: T = done.value
                return result
            number += 1
            self._begun(number)
            try:
                yield awaited
            except BaseException as error:  # noqa: BLE001 - it is the call's, whatever
                go_on = partial(inner.throw, error)
            else:
                go_on = partial(next, inner)
            self._ended(number)


async def cancelled_at(number: int, call: Callable[[], Awaitable[T]]) -> T:
    """Make a call as a task, and cancel it at its so-many-th wait.

    Raises:
        asyncio.CancelledError: it was cancelled; without it, it did not wait so often.
    """

    def begun(at: int) -> None:
        task = asyncio.current_task()
        if at == number and task is not None:
            task.cancel()

    async def doing() -> T:
        return await Waits(call, begun=begun)

    return await asyncio.create_task(doing())
