"""One history's world: Bright, the devices and the wire between them."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from extension_harness.simulation.clock import SteadyTime
from extension_harness.simulation.device import Device, Identity
from extension_harness.simulation.network import Link
from extension_harness.simulation.scenario import Scenario
from extension_harness.simulation.server.disk import ServerDisk
from extension_harness.simulation.server.machine import Server
from extension_harness.simulation.service import Service
from extension_harness.simulation.tab import Tab
from extension_harness.simulation.truth import Conversation, Row, Truth
from extension_harness.simulation.witness import Witness

_MOST_BACKUPS: Final = 8


class World:
    """All that there is in a history."""

    def __init__(self, scenario: Scenario) -> None:
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
        self.backups: list[bytes] = []
        """Copies of Bright's store, as an operator would keep them."""
        self.has_clock_jumped = False

    def bind(self, device: Device) -> None:
        """Give a device a binding for its accounts, and its token."""
        self.made_bindings += 1
        self.bindings[device.number] = self.made_bindings
        token = self.server.bind(self.made_bindings, device.accounts)
        device.configure(token)

    def committed(self) -> None:
        """A transaction of Bright's is over."""
        self.witness.committed()
        if "store_restored" in self.scenario.faults:
            self.backups.append(self.disk.copy())
            del self.backups[:-_MOST_BACKUPS]

    def show(self, account: str, conversation: str, rows: list[Row]) -> None:
        """Every open page of an account sees rows of a conversation."""
        for device in self.devices:
            for tab in device.tabs:
                if tab.account == account:
                    tab.see(self.service.shown(list(rows)), conversation)

    def tell(self, account: str, ledger: str, entry: Row) -> None:
        """Every open page of an account learns an entry of a ledger."""
        for device in self.devices:
            for tab in device.tabs:
                if tab.account == account:
                    tab.tell(ledger, entry)

    def place(self, account: int, conversation: int) -> Conversation:
        """Return a conversation by its numbers."""
        return self.truth.conversations[self.names(account, conversation)]

    def names(self, account: int, conversation: int) -> tuple[str, str]:
        """Return the names of an account and its conversation by their numbers."""
        name = self.accounts[account % len(self.accounts)]
        return name, f"c{conversation % self.scenario.conversations}"

    def tab(self, number: int, k: int) -> Tab | None:
        """Return a device's tab, if it has any."""
        tabs = self.devices[number].tabs
        return tabs[k % len(tabs)] if tabs else None

    def link(self, number: int) -> Link | None:
        """Return a connection by its place, if there is one."""
        return self.links[number] if number < len(self.links) else None

    def sweep(self) -> None:
        """Let go of what is over."""
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

    def _new_link(self, device: int) -> Link:
        self.made_links += 1
        link = Link(self.made_links, device)
        link.accounts = self.devices[device].accounts
        self.links.append(link)
        return link
