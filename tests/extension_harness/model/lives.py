"""A worker of the model in a test: driven step by step, in the order of asking."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from extension_harness.model.disk import Disk
from extension_harness.model.effects import Connect, Effect, Reply, Send
from extension_harness.model.events import (
    Event,
    FrameReceived,
    PageHello,
    PageObserved,
    SocketOpened,
)
from extension_harness.model.steps import Json
from extension_harness.model.truth import Truth
from extension_harness.model.worker import ModelWorker

ACCOUNT = "2500000000001"
CONVERSATION = "c0"
NOW_MS = 1_750_000_000_000
WELCOME: Json = {
    "type": "welcome",
    "connectionId": "k1",
    "storeId": "s1",
    "serverTimeMs": NOW_MS,
    "heartbeatIntervalMs": 15_000,
    "authorizationVersion": 1,
    "accounts": [ACCOUNT],
    "limits": {
        "maxFrameBytes": 1_048_576,
        "maxBatchMessages": 200,
        "maxInFlightBatches": 8,
    },
}

E = TypeVar("E", bound=Effect)


def new_disk() -> Disk:
    return Disk({"serverUrl": "ws://127.0.0.1:1", "bindingToken": "brt_secret"})


class Life:
    """One life on a disk; everything that it asked of the world is in `effects`."""

    def __init__(self, disk: Disk, seed: int = 1) -> None:
        random = Random(seed)  # noqa: S311 - chance, not secrecy
        self.effects: list[Effect] = []
        self.now_ms = NOW_MS
        self.worker = ModelWorker(
            disk,
            boot_id=f"life{seed:04d}",
            random=random.random,
            now=lambda: self.now_ms,
        )

    def wake(self, event: Event) -> None:
        self.effects += self.worker.wake(event)

    def run(self, most: int = 10_000) -> int:
        """Does every step that can be done, the longest waiting first."""
        for steps in range(most):
            runnable = self.worker.runnable()
            if not runnable:
                return steps
            self.effects += self.worker.advance(runnable[0])
        return most

    def welcome(self) -> int:
        """Opens the socket that it asks for, at the latest for a page; gives it."""
        self.run()
        if not self.asked(Connect):
            hello = {"channelAccountId": ACCOUNT, "route": "message", "lost": []}
            self.wake(PageHello(0, 1, "page-1", hello))
            self.run()
        socket = self.asked(Connect)[-1].socket
        self.wake(SocketOpened(socket))
        self.wake(FrameReceived(socket, WELCOME))
        self.run()
        return socket

    def asked(self, kind: type[E]) -> list[E]:
        return [each for each in self.effects if isinstance(each, kind)]

    def sent(self, kind: str) -> list[Json]:
        frames = [dict(each.frame) for each in self.asked(Send)]
        return [frame for frame in frames if frame["type"] == kind]

    def replies(self) -> list[Json]:
        """What a page was answered that had seen something."""
        return [dict(each.answer) for each in self.asked(Reply) if each.reply > 0]


def observed(truth: Truth, reply: int = 1) -> PageObserved:
    """A page shows one more message live."""
    row = truth.add(CONVERSATION, NOW_MS)
    body = {"channelAccountId": ACCOUNT, "conversationId": None, "rows": [row]}
    return PageObserved(reply, 1, "page-1", body)
