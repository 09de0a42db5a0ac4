"""Looks on, after every step, at both disks and at every frame, and compares.

Bright's side is `BrightWitness`, the extension's `DeviceWitness`; here is what they
have in common, and who is told what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from extension_harness.simulation.bright_witness import BrightWitness
from extension_harness.simulation.device_witness import DeviceWitness
from extension_harness.simulation.network import Link
from extension_harness.simulation.server.disk import ServerDisk
from extension_harness.simulation.truth import Row, Truth

if TYPE_CHECKING:
    from extension_harness.simulation.device import Device


class Witness:
    """Sees everything; raises `Violation` at the step that breaks a promise."""

    def __init__(self, truth: Truth, disk: ServerDisk) -> None:
        self.bright = BrightWitness(truth, disk)
        self._truth = truth
        self._devices: dict[int, DeviceWitness] = {}

    # Bright.

    def committed(self) -> None:
        """A transaction of Bright's is over."""
        self.bright.committed()

    def restored(self) -> None:
        """Bright's store was replaced."""
        self.bright.restored()

    def server_sends(self, link: Link, text: str) -> None:
        """See `WireWatch.server_sends`."""
        self.bright.sends(link.accounts, text)

    # The extension.

    def worker_sends(self, device: Device, frame: Row) -> None:
        """See `DeviceWatch.worker_sends`."""
        self.of(device).sends(frame)

    def page_told(self, device: Device, body: Row) -> None:
        """See `DeviceWatch.page_told`."""
        self.of(device).told(body)

    def transacted(self, device: Device, name: str) -> None:
        """See `DeviceWatch.transacted`."""
        self.of(device).transacted(name)

    def of(self, device: Device) -> DeviceWitness:
        """Return the witness of one device."""
        found = self._devices.get(device.number)
        if found is None:
            found = DeviceWitness(device, self._truth, self.bright)
            self._devices[device.number] = found
        return found
