"""What may happen next in a world, and how it happens.

Everything that can happen is a choice, a short list that can be written into a file.
`choices` says what is possible now, `apply` lets one happen. A choice that is not
possible (any more) changes nothing: so a schedule stays one when parts of it are left
out.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from extension_harness.simulation.device import IDLE_MS, SETTINGS, Device
from extension_harness.simulation.faults import Faults
from extension_harness.simulation.network import ABNORMAL, Closing, Link
from extension_harness.simulation.world import World

Choice: TypeAlias = tuple[Any, ...]
"""What happens next: its kind, then numbers that say where."""

OF_DEVICES: Final = frozenset({"start", "step", "speak", "answer", "idle"})
"""Choices whose first number is a device's."""


class Course:
    """How one world goes on."""

    def __init__(self, world: World) -> None:
        self.faults = Faults(world)
        self.world = world

    def begin(self) -> None:
        """Let there be a history to read, a server and browsers that start."""
        world = self.world
        for conversation in world.truth.conversations.values():
            for _ in range(world.scenario.history):
                world.truth.say(conversation.account, conversation.name, 0)
                world.steady.move_to(world.steady.now_ms + 1)
        world.server.start()
        for device in world.devices:
            world.bind(device)
            if device.number in world.scenario.blocked:
                self.faults.hold_store(device)
            device.start_browser()
        world.server.run()

    # What is possible.

    def choices(self) -> list[Choice]:
        """Return all that could happen now but faults and the passing of time."""
        world = self.world
        found: list[Choice] = []
        for device in world.devices:
            self._choices_of(device, found)
        for number, link in enumerate(world.links):
            self._choices_on(number, link, found)
        if world.disk.writes and world.server.is_up:
            found.append(("tell",) if world.disk.writes[0].is_done else ("write",))
        if not world.server.is_up:
            found.append(("serve",))
        return found

    def _choices_of(self, device: Device, found: list[Choice]) -> None:
        number, now_ms = device.number, self.world.steady.now_ms
        if not device.is_running:
            found.append(("start", number))
            return
        found += [("step", number, k) for k in range(len(device.runnable()))]
        for k, tab in enumerate(device.tabs):
            if tab.has_something(now_ms):
                found.append(("speak", number, k))
            found += [("answer", number, k, j) for j in range(len(tab.asked))]
        if (
            device.worker is not None
            and now_ms - device.heard_at_ms >= IDLE_MS
            and not device.runnable()
        ):
            found.append(("idle", number))

    def _choices_on(self, number: int, link: Link, found: list[Choice]) -> None:
        now_ms = self.world.steady.now_ms
        if not link.is_accepted:
            if link.is_client_open:
                found.append(("accept", number))
            return
        if link.is_passable("up", now_ms):
            found.append(("up", number))
        if link.is_passable("down", now_ms):
            found.append(("down", number))

    def due_ms(self) -> float | None:
        """Return when the next thing happens by itself."""
        due = [self.world.server.due_ms(), self.faults.due_ms()]
        now_ms = self.world.steady.now_ms
        for device in self.world.devices:
            due += [at_ms for at_ms, _ in device.timers.values()]
            due.append(device.alarm_at_ms)
            due += [tab.retry_at_ms for tab in device.tabs if tab.retry_at_ms > now_ms]
        for link in self.world.links:
            due += [at_ms for at_ms in link.held_until_ms.values() if at_ms > now_ms]
            due.append(link.server_gives_up_ms)
        known = [each for each in due if each is not None]
        return min(known, default=None)

    # What happens.

    def apply(self, choice: Choice) -> bool:
        """Let a choice happen; False: it is not possible now."""
        kind, *where = choice
        if kind in OF_DEVICES and where[0] >= len(self.world.devices):
            return False
        done = bool(getattr(self, f"_do_{kind}")(*where))
        if done:
            self.world.server.run()
            self.world.sweep()
            self.world.witness.speak()
        return done

    def _do_step(self, number: int, k: int) -> bool:
        device = self.world.devices[number]
        tasks = device.runnable()
        if not tasks:
            return False
        device.advance(tasks[k % len(tasks)])
        return True

    def _do_start(self, number: int) -> bool:
        device = self.world.devices[number]
        if device.is_running:
            return False
        device.start_browser()
        return True

    def _do_speak(self, number: int, k: int) -> bool:
        tab = self.world.tab(number, k)
        if tab is None or not tab.has_something(self.world.steady.now_ms):
            return False
        self.world.devices[number].speak(tab)
        return True

    def _do_answer(self, number: int, k: int, j: int) -> bool:
        tab = self.world.tab(number, k)
        if tab is None or not tab.asked:
            return False
        asked = tab.asked[j % len(tab.asked)]
        self.world.devices[number].answer(
            tab, asked, self.world.service.answer(tab, asked)
        )
        return True

    def _do_idle(self, number: int) -> bool:
        device = self.world.devices[number]
        if ("idle", number) not in self.choices():
            return False
        device.kill_worker(delivers=True)
        return True

    def _do_accept(self, number: int) -> bool:
        link = self.world.link(number)
        if link is None or link.is_accepted or not link.is_client_open:
            return False
        device = self.world.devices[link.device]
        if self.world.server.accept(link):
            device.opened(link)
        else:
            link.is_accepted = True
            link.cut()
        return True

    def _do_up(self, number: int) -> bool:
        link = self.world.link(number)
        if link is None or not link.is_passable("up", self.world.steady.now_ms):
            return False
        self.world.server.arrive(link, link.up.popleft())
        return True

    def _do_down(self, number: int) -> bool:
        link = self.world.link(number)
        if link is None or not link.is_passable("down", self.world.steady.now_ms):
            return False
        self.world.devices[link.device].arrive(link, link.down.popleft())
        return True

    def _do_write(self) -> bool:
        if not self.world.server.is_up or all(
            each.is_done for each in self.world.disk.writes
        ):
            return False
        self.world.disk.write(fails=self.faults.take_write_error())
        self.world.committed()
        return True

    def _do_tell(self) -> bool:
        if not self.world.server.is_up or not self.world.disk.writes:
            return False
        if not self.world.disk.writes[0].is_done:
            return False
        self.world.disk.tell()
        if self.world.disk.commits_late:
            self.world.server.run()
            self.world.disk.catch_up()
            self.world.committed()
        return True

    def _do_serve(self) -> bool:
        if self.world.server.is_up:
            return False
        self.world.server.start()
        return True

    def _do_say(self, account: int, conversation: int, count: int) -> bool:
        """Somebody writes; every open page of the account sees it.

        A millisecond holds no more than the widest page of history shows: see
        docs/simulation.md.
        """
        name, place = self.world.names(account, conversation)
        said = self.world.truth.conversations[name, place].messages
        of_last = [each for each in said if each.sent_at_ms == said[-1].sent_at_ms]
        if len(of_last) + count >= SETTINGS["historyMaxPageSize"]:
            self.world.steady.move_to(self.world.steady.now_ms + 1)
        rows = [
            self.world.truth.say(name, place, self.world.steady.now_ms).row()
            for _ in range(count)
        ]
        self.world.show(name, place, rows)
        return True

    def _do_spoil(self, account: int, conversation: int) -> bool:
        """The page shows a row that lacks its sender (OT-32)."""
        name, place = self.world.names(account, conversation)
        self.world.show(
            name,
            place,
            [self.world.truth.spoil(name, place, self.world.steady.now_ms)],
        )
        return True

    def _do_card(self, account: int, conversation: int) -> bool:
        """A contact changes its card."""
        self.world.place(account, conversation).profile_version += 1
        return True

    def _do_render(self, account: int, conversation: int) -> bool:
        """A page draws the card of a conversation's newest message."""
        place = self.world.place(account, conversation)
        card = place.rendered()
        if card is None:
            return False
        self.world.tell(place.account, "cards", card)
        return True

    def _do_facts(self, account: int, conversation: int) -> bool:
        """A page learns something new of a buyer."""
        place = self.world.place(account, conversation)
        place.facts_version += 1
        self.world.tell(place.account, "facts", place.known_facts())
        return True

    def _do_tick(self) -> bool:
        """Time passes to the next thing that is due."""
        due = self.due_ms()
        if due is None:
            return False
        self.world.steady.move_to(round(due + 0.4999))
        now_ms = self.world.steady.now_ms
        self.faults.pass_time()
        for link in self.world.links:
            if (
                link.server_gives_up_ms is not None
                and link.server_gives_up_ms <= now_ms
            ):
                link.server_gives_up_ms = None
                if link.is_server_open:
                    self.world.server.arrive(link, Closing(ABNORMAL))
        for device in self.world.devices:
            self._ring(device, now_ms)
        return True

    def _ring(self, device: Device, now_ms: int) -> None:
        due = [
            (at_ms, order, timer)
            for timer, (at_ms, order) in device.timers.items()
            if at_ms <= now_ms
        ]
        for _, _, timer in sorted(due):
            if timer in device.timers:
                device.fire(timer)
        if device.alarm_at_ms is not None and device.alarm_at_ms <= now_ms:
            device.ring()

    def _do_fault(self, kind: str, *where: int) -> bool:
        return self.faults.strike(kind, *where)
