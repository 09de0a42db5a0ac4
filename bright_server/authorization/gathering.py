"""Many questions into one: whoever asks while enough is being asked joins the next.

An answer counts only for whoever asked before its question went out: a binding that was
revoked before somebody asked is never still valid for him (OT-60). Nothing is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key")
Answer = TypeVar("Answer")

Ask = Callable[[Collection[Key]], Awaitable[Mapping[Key, Answer]]]


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Key, Answer]):
    keys: frozenset[Key]
    answer: asyncio.Future[Mapping[Key, Answer]]


class Gathering(Generic[Key, Answer]):
    """Asks about many keys at once, so many times side by side and no more.

    Args:
        ask: answers for every key, or raises; ends by itself within a deadline.
        at_once: how many questions may be under way.
    """

    def __init__(self, ask: Ask[Key, Answer], at_once: int) -> None:
        self._ask = ask
        self._at_once = at_once
        self._waiting: list[_Waiting[Key, Answer]] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, keys: Iterable[Key]) -> Mapping[Key, Answer]:
        """Return an answer for each key, to a question that goes out from now on.

        Raises:
            Exception: whatever the question raised.
        """
        answer: asyncio.Future[Mapping[Key, Answer]] = (
            asyncio.get_running_loop().create_future()
        )
        self._waiting.append(_Waiting(frozenset(keys), answer))
        self._start()
        return await answer

    async def close(self) -> None:
        """End what is under way; whoever waits is cancelled."""
        for each in self._waiting:
            each.answer.cancel()
        self._waiting.clear()
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _start(self) -> None:
        if not self._waiting or len(self._under_way) >= self._at_once:
            return
        waiting, self._waiting = self._waiting, []
        task = asyncio.create_task(self._ask_for(waiting))
        self._under_way.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._start()

    async def _ask_for(self, waiting: list[_Waiting[Key, Answer]]) -> None:
        # Who has gone away meanwhile is not asked for.
        wanted = [each for each in waiting if not each.answer.done()]
        if not wanted:
            return
        try:
            answers = await self._ask({key for each in wanted for key in each.keys})
        except asyncio.CancelledError:
            for each in wanted:
                each.answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is told to whoever asked
            for each in wanted:
                if not each.answer.done():
                    each.answer.set_exception(error)
            return
        for each in wanted:
            if not each.answer.done():
                each.answer.set_result({key: answers[key] for key in each.keys})
