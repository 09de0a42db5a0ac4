"""One history's world: Bright, the devices, the wire, and what may happen next.

Everything that can happen is a choice, a short list that can be written into a file.
`choices` says what is possible now, `apply` lets one happen. A choice that is not
possible (any more) changes nothing: so a schedule stays one when parts of it are left
out.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final, TypeAlias

from extension_harness.simulation.clock import SteadyTime
from extension_harness.simulation.device import IDLE_MS, Device, Identity
from extension_harness.simulation.faults import Faults
from extension_harness.simulation.network import ABNORMAL, Closing, Link
from extension_harness.simulation.plants import Plant
from extension_harness.simulation.scenario import Scenario
from extension_harness.simulation.server.disk import ServerDisk
from extension_harness.simulation.server.machine import Server
from extension_harness.simulation.service import Service
from extension_harness.simulation.tab import Tab
from extension_harness.simulation.truth import Conversation, Row, Truth
from extension_harness.simulation.witness import Witness

Choice: TypeAlias = tuple[Any, ...]
"""What happens next: its kind, then numbers that say where."""

OF_DEVICES: Final = frozenset({"start", "step", "speak", "answer", "idle"})
"""Choices whose first number is a device's."""


class World:
    """All that there is in a history."""

    def __init__(self, scenario: Scenario, plant: Plant) -> None:
        self.scenario = scenario
        self.steady = SteadyTime()
        accounts = sorted({a for each in scenario.device_accounts for a in each})
        self.accounts = accounts
        self.truth = Truth(accounts, scenario.conversations)
        self.disk = ServerDisk("store-0")
        self.witness = Witness(self.truth, self.disk)
        self.server = Server(
            self.steady, self.disk, self.witness, is_remote=scenario.is_authority_remote
        )
        self.links: list[Link] = []
        self.made_links = 0
        self.live_left = scenario.live
        self.devices = [
            Device(
                Identity(number, scenario.seed, of_device),
                self.steady,
                self.witness,
                self._new_link,
            )
            for number, of_device in enumerate(scenario.device_accounts)
        ]
        self.bindings = [0] * len(self.devices)
        self.made_bindings = 0
        self.service = Service(
            self.truth,
            Random(f"pages {scenario.seed}")  # noqa: S311 - a seed
            if scenario.is_page_shuffled
            else None,
        )
        self.sends_profiles = True
        self.faults = Faults(self)
        plant.put_into(self)

    def begin(self) -> None:
        """Let there be a history to read, a server and browsers that start."""
        for conversation in self.truth.conversations.values():
            for _ in range(self.scenario.history):
                self.truth.say(conversation.account, conversation.name, 0)
                self.steady.move_to(self.steady.now_ms + 1)
        self.server.start()
        for device in self.devices:
            self.bind(device)
            if device.number in self.scenario.blocked:
                self.faults.hold_store(device)
            device.start_browser()
        self.server.run()

    # What is possible.

    def choices(self) -> list[Choice]:
        """Return all that could happen now but faults and the passing of time."""
        found: list[Choice] = []
        for device in self.devices:
            self._choices_of(device, found)
        for number, link in enumerate(self.links):
            self._choices_on(number, link, found)
        if self.disk.writes and self.server.is_up:
            found.append(("tell",) if self.disk.writes[0].is_done else ("write",))
        if not self.server.is_up:
            found.append(("serve",))
        return found

    def _choices_of(self, device: Device, found: list[Choice]) -> None:
        number, now_ms = device.number, self.steady.now_ms
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
        now_ms = self.steady.now_ms
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
        due = [self.server.due_ms(), self.faults.due_ms()]
        now_ms = self.steady.now_ms
        for device in self.devices:
            due += [at_ms for at_ms, _ in device.timers.values()]
            due.append(device.alarm_at_ms)
            due += [tab.retry_at_ms for tab in device.tabs if tab.retry_at_ms > now_ms]
        for link in self.links:
            due += [at_ms for at_ms in link.held_until_ms.values() if at_ms > now_ms]
            due.append(link.server_gives_up_ms)
        known = [each for each in due if each is not None]
        return min(known, default=None)

    # What happens.

    def apply(self, choice: Choice) -> bool:
        """Let a choice happen; False: it is not possible now."""
        kind, *where = choice
        if kind in OF_DEVICES and where[0] >= len(self.devices):
            return False
        done = bool(getattr(self, f"_do_{kind}")(*where))
        if done:
            self.server.run()
            self._sweep()
            self.witness.speak()
        return done

    def _do_step(self, number: int, k: int) -> bool:
        device = self.devices[number]
        tasks = device.runnable()
        if not tasks:
            return False
        device.advance(tasks[k % len(tasks)])
        return True

    def _do_start(self, number: int) -> bool:
        device = self.devices[number]
        if device.is_running:
            return False
        device.start_browser()
        return True

    def _do_speak(self, number: int, k: int) -> bool:
        tab = self._tab(number, k)
        if tab is None or not tab.has_something(self.steady.now_ms):
            return False
        self.devices[number].speak(tab)
        return True

    def _do_answer(self, number: int, k: int, j: int) -> bool:
        tab = self._tab(number, k)
        if tab is None or not tab.asked:
            return False
        asked = tab.asked[j % len(tab.asked)]
        self.devices[number].answer(tab, asked, self.service.answer(tab, asked))
        return True

    def _do_idle(self, number: int) -> bool:
        device = self.devices[number]
        if ("idle", number) not in self.choices():
            return False
        device.kill_worker(delivers=True)
        return True

    def _do_accept(self, number: int) -> bool:
        link = self._link(number)
        if link is None or link.is_accepted or not link.is_client_open:
            return False
        device = self.devices[link.device]
        if self.server.accept(link):
            device.opened(link)
        else:
            link.is_accepted = True
            link.cut()
        return True

    def _do_up(self, number: int) -> bool:
        link = self._link(number)
        if link is None or not link.is_passable("up", self.steady.now_ms):
            return False
        self.server.arrive(link, link.up.popleft())
        return True

    def _do_down(self, number: int) -> bool:
        link = self._link(number)
        if link is None or not link.is_passable("down", self.steady.now_ms):
            return False
        self.devices[link.device].arrive(link, link.down.popleft())
        return True

    def _do_write(self) -> bool:
        if not self.server.is_up or all(each.is_done for each in self.disk.writes):
            return False
        self.disk.write(fails=self.faults.take_write_error())
        self.committed()
        return True

    def _do_tell(self) -> bool:
        if not self.server.is_up or not self.disk.writes:
            return False
        if not self.disk.writes[0].is_done:
            return False
        self.disk.tell()
        if self.disk.commits_late:
            self.server.run()
            self.disk.catch_up()
            self.committed()
        return True

    def _do_serve(self) -> bool:
        if self.server.is_up:
            return False
        self.server.start()
        return True

    def _do_say(self, account: int, conversation: int, count: int) -> bool:
        """Somebody writes; every open page of the account sees it.

        What is said in one breath has one time, and what is said later another: see
        docs/simulation.md about messages of one millisecond.
        """
        self.steady.move_to(self.steady.now_ms + 1)
        name = self.accounts[account % len(self.accounts)]
        place = f"c{conversation % self.scenario.conversations}"
        rows = [
            self.truth.say(name, place, self.steady.now_ms).row() for _ in range(count)
        ]
        self._show(name, place, rows)
        return True

    def _do_spoil(self, account: int, conversation: int) -> bool:
        """The page shows a row that lacks its sender (OT-32)."""
        name = self.accounts[account % len(self.accounts)]
        place = f"c{conversation % self.scenario.conversations}"
        self._show(name, place, [self.truth.spoil(name, place, self.steady.now_ms)])
        return True

    def _do_card(self, account: int, conversation: int) -> bool:
        """A contact changes its card."""
        self._place(account, conversation).profile_version += 1
        return True

    def _do_render(self, account: int, conversation: int) -> bool:
        """A page draws the card of a conversation's newest message."""
        place = self._place(account, conversation)
        card = place.rendered()
        if card is None:
            return False
        self._tell(place.account, "cards", card)
        return True

    def _do_facts(self, account: int, conversation: int) -> bool:
        """A page learns something new of a buyer."""
        place = self._place(account, conversation)
        place.facts_version += 1
        self._tell(place.account, "facts", place.known_facts())
        return True

    def _do_tick(self) -> bool:
        """Time passes to the next thing that is due."""
        due = self.due_ms()
        if due is None:
            return False
        self.steady.move_to(round(due + 0.4999))
        now_ms = self.steady.now_ms
        self.faults.pass_time()
        for link in self.links:
            if (
                link.server_gives_up_ms is not None
                and link.server_gives_up_ms <= now_ms
            ):
                link.server_gives_up_ms = None
                if link.is_server_open:
                    self.server.arrive(link, Closing(ABNORMAL))
        for device in self.devices:
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

    # What several of the above need.

    def bind(self, device: Device) -> None:
        """Give a device a binding for its accounts, and its token."""
        self.made_bindings += 1
        self.bindings[device.number] = self.made_bindings
        token = self.server.bind(self.made_bindings, device.accounts)
        device.configure(token)

    def renew_connections(self) -> None:
        """Cut every connection once, as a night does."""
        for link in self.links:
            if link.is_accepted:
                link.cut()

    def committed(self) -> None:
        """A transaction of Bright's is over."""
        self.witness.committed()
        self.faults.note_commit()

    def _show(self, account: str, conversation: str, rows: list[Row]) -> None:
        for device in self.devices:
            for tab in device.tabs:
                if tab.account == account:
                    tab.see(self.service.shown(list(rows)), conversation)

    def _tell(self, account: str, ledger: str, entry: Row) -> None:
        for device in self.devices:
            for tab in device.tabs:
                if tab.account == account:
                    tab.tell(ledger, entry)

    def _place(self, account: int, conversation: int) -> Conversation:
        name = self.accounts[account % len(self.accounts)]
        place = f"c{conversation % self.scenario.conversations}"
        return self.truth.conversations[name, place]

    def _tab(self, number: int, k: int) -> Tab | None:
        tabs = self.devices[number].tabs
        return tabs[k % len(tabs)] if tabs else None

    def _link(self, number: int) -> Link | None:
        return self.links[number] if number < len(self.links) else None

    def _new_link(self, device: int) -> Link:
        self.made_links += 1
        link = Link(self.made_links, device)
        link.accounts = self.devices[device].accounts
        self.links.append(link)
        return link

    def _sweep(self) -> None:
        if self.server.is_drained:
            self.server.kill(self.links)
        self.links = [link for link in self.links if not link.is_over]

    def mark(self) -> tuple[Any, ...]:
        """Return a short mark of the present state, to tell histories apart."""
        return (
            self.steady.now_ms,
            len(self.witness.bright.stored),
            [(len(link.up), len(link.down)) for link in self.links],
            [(d.boots, len(d.runnable()), len(d.timers)) for d in self.devices],
        )
