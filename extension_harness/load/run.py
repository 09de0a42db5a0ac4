"""A load of model extensions on one server or several, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Any

from extension_harness.errors import WaitTimeoutError
from extension_harness.load.extension import LiveExtension, Place
from extension_harness.load.fleet import Fleet
from extension_harness.load.verdict import faults_of, is_at_rest
from extension_harness.model.steps import Json
from extension_harness.oracle.server_faults import outbox_faults, sequence_faults
from extension_harness.server import BrightServer, StoreDump

ACCOUNTS_A_BINDING = 5
LOOK_SECONDS = 0.5
SETTINGS: dict[str, Any] = {
    "historyPaceMs": 20,
    "pageTimeoutMs": 5_000,
    "backoffBaseMs": 200,
    "backoffCapMs": 5_000,
    "retryCoolMs": 200,
    "claimRetryMs": 5_000,
    "listRefreshMs": 3_000,
}
"""The extensions' own settings: a fault is noticed in seconds."""


@dataclass(frozen=True)
class Plan:
    """What is run; kills and messages are means, each extension by its own chance."""

    extensions: int = 200
    seconds: float = 120.0
    seed: int = 0
    conversations: int = 6
    messages: int = 12
    kill_seconds: float = 20.0
    message_seconds: float = 5.0
    server_kills: int = 1
    step_kills: float = 0.0005
    rest_seconds: float = 120.0
    alarm_seconds: float = 15.0


@dataclass(frozen=True)
class Report:
    """What was done, and every fault found; it holds where there is none."""

    extensions: int
    messages: int
    cards: int
    facts: int
    kills: int
    server_kills: int
    seconds: float
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """True when every truth, every ledger and the store agree."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """For a machine."""
        return {
            "extensions": self.extensions,
            "messages": self.messages,
            "cards": self.cards,
            "facts": self.facts,
            "kills": self.kills,
            "serverKills": self.server_kills,
            "seconds": round(self.seconds, 1),
            "holds": self.holds,
            "faults": list(self.faults[:50]),
        }


def run(server: BrightServer | Fleet, plan: Plan) -> Report:
    """Runs a plan on a server that listens, or on several with one database.

    Raises:
        WaitTimeoutError: the extensions did not come to rest in time.
    """
    random = Random(plan.seed)  # noqa: S311 - chance, not secrecy
    places = _places(server, plan)
    extensions = [
        LiveExtension(
            place,
            Random(random.getrandbits(64)),  # noqa: S311 - chance
            alarm_seconds=plan.alarm_seconds,
            step_kills=plan.step_kills,
        )
        for place in places
    ]
    for extension in extensions:
        extension.truth.grow(
            random,
            conversations=plan.conversations,
            messages=plan.messages,
            now_ms=time.time_ns() // 1_000_000,
        )
    begun = time.monotonic()
    server_kills = asyncio.run(_live(server, plan, extensions, random))
    dump = server.dump()
    return Report(
        extensions=len(extensions),
        messages=sum(1 for each in extensions for _ in each.truth.messages()),
        cards=len(dump.of("renderedCard")),
        facts=len(dump.of("buyerFacts")),
        kills=sum(each.kills for each in extensions),
        server_kills=server_kills,
        seconds=time.monotonic() - begun,
        faults=tuple(_judged(extensions, dump)),
    )


def _places(server: BrightServer | Fleet, plan: Plan) -> list[Place]:
    accounts = [f"seller-{number}" for number in range(plan.extensions)]
    groups = [
        accounts[start : start + ACCOUNTS_A_BINDING]
        for start in range(0, len(accounts), ACCOUNTS_A_BINDING)
    ]
    with ThreadPoolExecutor(2) as threads:
        bindings = list(threads.map(server.create_binding, groups))
    return [
        Place(server.url, binding.token, account, SETTINGS)
        for group, binding in zip(groups, bindings, strict=True)
        for account in group
    ]


async def _live(
    server: BrightServer | Fleet,
    plan: Plan,
    extensions: Sequence[LiveExtension],
    random: Random,
) -> int:
    """Let them live, and come to rest; returns how often a server was killed."""
    server_kills: list[float] = []
    for extension in extensions:
        extension.start()
    try:
        async with asyncio.timeout(plan.seconds):
            async with asyncio.TaskGroup() as group:
                for extension in extensions:
                    group.create_task(_trouble(extension, plan, random))
                group.create_task(_server_trouble(server, plan, server_kills))
    except TimeoutError:
        pass  # as planned
    try:
        for extension in extensions:
            extension.step_kills = 0
        await _come_to_rest(extensions, plan.rest_seconds)
    finally:
        for extension in extensions:
            extension.stop()
    return len(server_kills)


async def _trouble(extension: LiveExtension, plan: Plan, random: Random) -> None:
    """Messages, kills and reloads of one extension, until it is cancelled."""
    while True:
        await asyncio.sleep(random.expovariate(1 / plan.message_seconds))
        row = _message(extension, random)
        extension.show({**row, "surface": "emitter"})
        if random.random() < 0.3:
            extension.tell(*_card_or_facts(row, random))
        if random.random() < plan.message_seconds / plan.kill_seconds:
            extension.kill()
        if random.random() < 0.05:
            # Nobody saw what came while no page was open.
            for _ in range(random.randrange(4)):
                _message(extension, random)
            extension.reload_page()


def _message(extension: LiveExtension, random: Random) -> Json:
    truth = extension.truth
    number = random.randrange(len(truth.conversations) + 1)
    latest = truth.conversation(f"c{number}").latest_at_ms or 0
    sent_at_ms = max(latest, time.time_ns() // 1_000_000)
    return truth.add(f"c{number}", sent_at_ms, inbound=random.random() < 0.7)


def _card_or_facts(row: Json, random: Random) -> tuple[str, Json]:
    """What a page shows beside its messages: a ledger, and an entry of it."""
    named = {"conversationId": row["conversationId"]}
    if random.random() < 0.5:
        return "facts", {**named, "facts": {"orderCount": random.randrange(1_000)}}
    card = {
        **named,
        "messageId": row["messageId"],
        "sentAtMs": row["sentAtMs"],
        "cardKind": "order_card",
        "content": {"title": f"Order of {row['text']}", "lines": ["100 pieces"]},
    }
    return "cards", card


async def _server_trouble(
    server: BrightServer | Fleet, plan: Plan, killed: list[float]
) -> None:
    """Kill and start a server at even times, as far as they come; note each."""

    def kill() -> None:
        killed.append(time.monotonic())
        server.kill()
        server.start()

    begun = time.monotonic()
    for number in range(1, plan.server_kills + 1):
        due = begun + number * plan.seconds / (plan.server_kills + 1)
        await asyncio.sleep(due - time.monotonic())
        # In one piece: when the time is up, what was killed is started all the same.
        await asyncio.to_thread(kill)


async def _come_to_rest(extensions: Sequence[LiveExtension], seconds: float) -> None:
    restless = list(extensions)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while restless:
                await asyncio.sleep(LOOK_SECONDS)
                restless = [
                    each
                    for each in restless
                    if each.page.has_to_tell
                    or each.page.apart.has_to_tell
                    or not is_at_rest(each.truth, each.disk)
                ]
    if restless:
        names = ", ".join(each.truth.account for each in restless[:5])
        msg = f"{len(restless)} extensions are not at rest, {names} among them"
        raise WaitTimeoutError(msg, seconds)


def _judged(extensions: Sequence[LiveExtension], dump: StoreDump) -> list[str]:
    kinds = ("message", "anchor", "contactProfile", "renderedCard", "buyerFacts")
    rows = {kind: _by_account(dump, kind) for kind in kinds}
    faults: list[str] = []
    for extension in extensions:
        account = extension.truth.account
        own = {kind: of_all.get(account, []) for kind, of_all in rows.items()}
        faults += faults_of(extension.truth, extension.disk, own)
    return [*faults, *sequence_faults(dump), *outbox_faults(dump)]


def _by_account(dump: StoreDump, kind: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in dump.of(kind):
        found.setdefault(row["channelAccountId"], []).append(row)
    return found
