"""A choice in words, told just before it happens."""

from __future__ import annotations

from collections.abc import Iterator

from extension_harness.simulation.course import OF_DEVICES, Choice
from extension_harness.simulation.network import Closing, Item
from extension_harness.simulation.world import World

_WIDTH = 160


def told(world: World, choice: Choice) -> str:
    """Return one line: the simulated time, the choice, and what it is about."""
    words = " ".join(str(part) for part in choice)
    about = "; ".join(_about(world, choice))
    line = f"{world.steady.now_ms:>9} ms  {words:<28} {about}"
    return line[:_WIDTH].rstrip()


def _about(world: World, choice: Choice) -> Iterator[str]:
    kind, *where = choice
    if kind in OF_DEVICES and where[0] >= len(world.devices):
        return
    if kind == "step":
        tasks = world.devices[where[0]].runnable()
        if tasks:
            task = tasks[where[1] % len(tasks)]
            step = getattr(task.step, "name", type(task.step).__name__)
            yield f"device {where[0]}: {task.name} does {step}"
    elif kind in {"up", "down"} and where[0] < len(world.links):
        link = world.links[where[0]]
        queue = link.queue(kind)
        if queue:
            yield f"device {link.device}: {_frame(queue[0])}"
    elif kind in {"speak", "answer"} and world.devices[where[0]].tabs:
        tabs = world.devices[where[0]].tabs
        tab = tabs[where[1] % len(tabs)]
        yield f"device {where[0]}: {tab.page_id} of {tab.account}"
        if kind == "answer" and tab.asked:
            yield tab.asked[where[2] % len(tab.asked)].kind
        elif kind == "speak" and tab.is_greeted and tab.queue:
            rows = tab.queue[0].get("rows") or tab.queue[0]["entries"]
            yield ", ".join(str(row.get("messageId")) for row in rows)


def _frame(item: Item) -> str:
    if isinstance(item, Closing):
        return f"closes with {int(item.code)} {item.reason}"
    return item.text
