"""Looks on, after every step, at both disks and at every frame, and compares.

Bright's side is `BrightWitness`, the extension's `DeviceWitness`; here is what they
have in common, and who is told what.
"""

from __future__ import annotations

from extension_harness.simulation.bright_witness import BrightWitness
from extension_harness.simulation.device import Device
from extension_harness.simulation.device_witness import DeviceWitness
from extension_harness.simulation.network import Link
from extension_harness.simulation.server.disk import ServerDisk
from extension_harness.simulation.truth import Row, Truth
from extension_harness.simulation.violation import Violation


class Witness:
    """Sees everything; raises `Violation` at the step that breaks a promise."""

    def __init__(self, truth: Truth, disk: ServerDisk) -> None:
        self.bright = BrightWitness(truth, disk)
        self._truth = truth
        self._heard: Violation | None = None
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
        try:
            self.bright.sends(link.accounts, text)
        except Violation as broken:
            # Inside a task of Bright's, which would take it for a fault of its own.
            self._heard = self._heard or broken

    def speak(self) -> None:
        """Say what was seen where nothing could be said.

        Raises:
            Violation: a promise was broken inside Bright.
        """
        if self._heard is not None:
            raise self._heard

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
