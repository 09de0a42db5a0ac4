"""What goes wrong, and how it comes right again.

Each kind says for itself whether it could strike now; one that could not changes
nothing. Faults that last end by themselves after a while, or at the latest when the
history is let come to rest (`heal`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from extension_harness.simulation.device import Device
from extension_harness.simulation.network import Direction, Link, Text
from extension_harness.simulation.server.disk import PowerCutError
from extension_harness.simulation.server.machine import PING_GIVES_UP_MS
from extension_harness.simulation.world import World
from migrations.onetalk import STEPS
from storage_schema import Connection, QuotaExceededError
from storage_schema.onetalk import DATABASE_NAME

_DELAYS_MS: Final = (100, 2_000, 12_000, 45_000)
_JUMPS_MS: Final = (
    1, -1, 60_000, -60_000, 400_000, -400_000, 86_400_000, -86_400_000,
)  # fmt: skip
_OUTAGES_MS: Final = (1_000, 10_000, 60_000)
_MOST_STATEMENTS: Final = 9
_OLD_VERSION: Final = STEPS[-1].from_version


class Faults:
    """The faults of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._later: list[tuple[int, Callable[[], None]]] = []
        self._held: dict[int, Connection] = {}
        self._write_error: sqlite3.Error | None = None
        self._restores = 0

    # For the scheduler.

    def strike(self, kind: str, *where: int) -> bool:
        """Let a fault strike; False: it cannot now."""
        return bool(getattr(self, f"_{kind}")(*where))

    def due_ms(self) -> float | None:
        """Return when a fault ends by itself."""
        return min((at_ms for at_ms, _ in self._later), default=None)

    def pass_time(self) -> None:
        """End what is over by now."""
        now_ms = self._world.steady.now_ms
        due = [each for each in self._later if each[0] <= now_ms]
        self._later = [each for each in self._later if each[0] > now_ms]
        for _, end in due:
            end()

    def heal(self) -> None:
        """End every fault that lasts."""
        ends, self._later = self._later, []
        for _, end in ends:
            end()
        self._write_error = None

    def take_write_error(self) -> sqlite3.Error | None:
        """Return what Bright's next COMMIT fails with."""
        error, self._write_error = self._write_error, None
        return error

    def hold_store(self, device: Device) -> None:
        """Have an older version of the extension hold the store open for a while."""
        request = device.disk.factory.open(
            DATABASE_NAME, _OLD_VERSION, upgrade=_as_it_was
        )
        self._held[device.number] = request.result
        self._end_in(20_000, lambda: self._held.pop(device.number).close())

    # The extension's side.

    def _worker_killed(self, number: int, variety: int) -> bool:
        device = self._device(number)
        if device.worker is None:
            return False
        device.kill_worker(delivers=variety % 2 == 0)
        return True

    def _browser_killed(self, number: int, variety: int) -> bool:
        device = self._device(number)
        if not device.is_running or device.number in self._held:
            return False
        device.kill_browser(delivers=variety % 2 == 0)
        return True

    def _browser_clock_jumped(self, number: int, variety: int) -> bool:
        self._device(number).wall.jump(_JUMPS_MS[variety % len(_JUMPS_MS)])
        self._world.has_clock_jumped = True
        return True

    def _quota_met(self, number: int, _variety: int) -> bool:
        error = QuotaExceededError("the disk quota is used up")
        self._device(number).disk.factory.fail_next_commit(error)
        return True

    def _store_closed(self, number: int, _variety: int) -> bool:
        device = self._device(number)
        if not device.disk.is_open:
            return False
        device.disk.factory.terminate(DATABASE_NAME)
        return True

    def _tab_reloaded(self, number: int, variety: int) -> bool:
        device = self._device(number)
        if not device.tabs:
            return False
        device.reload_tab(device.tabs[variety % len(device.tabs)])
        return True

    def _tabs_closed(self, number: int, variety: int) -> bool:
        """The user closes every tab, and opens them again later."""
        device = self._device(number)
        if not device.tabs:
            return False
        for tab in tuple(device.tabs):
            device.close_tab(tab)

        def reopen() -> None:
            if device.is_running and not device.tabs:
                for account in device.accounts:
                    device.open_tab(account)

        self._end_in(_OUTAGES_MS[variety % len(_OUTAGES_MS)], reopen)
        return True

    def _page_silent(self, number: int, variety: int) -> bool:
        device = self._device(number)
        for tab in device.tabs:
            if tab.asked:
                asked = tab.asked[variety % len(tab.asked)]
                if variety % 2:
                    tab.asked.remove(asked)
                else:
                    device.answer(tab, asked, None)
                return True
        return False

    # Bright's side.

    def _server_killed(self, _number: int, _variety: int) -> bool:
        if not self._world.server.is_up:
            return False
        self._world.server.kill(self._world.links)
        return True

    def _server_cut_in_transaction(self, _number: int, variety: int) -> bool:
        world = self._world
        if not world.server.is_up or all(job.is_done for job in world.disk.writes):
            return False
        try:
            world.disk.write(dies_at=1 + variety % _MOST_STATEMENTS)
        except PowerCutError:
            pass
        else:
            world.committed()
        world.server.kill(world.links)
        return True

    def _server_restarted(self, _number: int, _variety: int) -> bool:
        if not self._world.server.is_up:
            return False
        self._world.server.drain()
        return True

    def _server_disk_failed(self, _number: int, _variety: int) -> bool:
        self._write_error = sqlite3.OperationalError("database or disk is full")
        return True

    def _server_clock_jumped(self, _number: int, variety: int) -> bool:
        self._world.server.clock.jump(_JUMPS_MS[variety % len(_JUMPS_MS)])
        self._world.has_clock_jumped = True
        return True

    def _binding_revoked(self, number: int, variety: int) -> bool:
        world, device = self._world, self._device(number)
        world.server.revoke(world.bindings[device.number], device.accounts)
        outage_ms = _OUTAGES_MS[variety % len(_OUTAGES_MS)]
        self._end_in(outage_ms, lambda: world.bind(device))
        return True

    def _authority_down(self, _number: int, variety: int) -> bool:
        server = self._world.server
        server.reach_authority(is_reachable=False)
        outage_ms = _OUTAGES_MS[variety % len(_OUTAGES_MS)]
        self._end_in(outage_ms, lambda: server.reach_authority(is_reachable=True))
        return True

    def _store_restored(self, _number: int, variety: int) -> bool:
        world = self._world
        if not world.backups:
            return False
        world.server.kill(world.links)
        self._restores += 1
        copy = world.backups[variety % len(world.backups)]
        world.disk.restore(copy, f"store-{self._restores}")
        for device in world.devices:
            world.server.keep(world.bindings[device.number], device.accounts)
        world.witness.restored()
        return True

    # The wire.

    def _connection_cut(self, number: int, _variety: int) -> bool:
        link = self._link(number)
        if link is None:
            return False
        link.cut()
        return True

    def _frame_doubled(self, number: int, variety: int) -> bool:
        link, direction = self._link(number), _direction(variety)
        if link is None:
            return False
        queue = link.queue(direction)
        if not queue or not isinstance(queue[0], Text):
            return False
        queue.appendleft(queue[0])
        return True

    def _frames_reordered(self, number: int, variety: int) -> bool:
        link, direction = self._link(number), _direction(variety)
        if link is None:
            return False
        queue = link.queue(direction)
        if len(queue) < 2 or not all(isinstance(queue[n], Text) for n in (0, 1)):
            return False
        queue[0], queue[1] = queue[1], queue[0]
        return True

    def _frames_delayed(self, number: int, variety: int) -> bool:
        link, direction = self._link(number), _direction(variety)
        if link is None:
            return False
        delay_ms = _DELAYS_MS[variety // 2 % len(_DELAYS_MS)]
        link.held_until_ms[direction] = self._world.steady.now_ms + delay_ms
        return True

    def _half_open(self, number: int, _variety: int) -> bool:
        link = self._link(number)
        if link is None or link.is_half_open:
            return False
        link.go_dead(self._world.steady.now_ms + PING_GIVES_UP_MS)
        return True

    def _device(self, number: int) -> Device:
        return self._world.devices[number % len(self._world.devices)]

    def _link(self, number: int) -> Link | None:
        links = [each for each in self._world.links if each.is_accepted]
        return links[number % len(links)] if links else None

    def _end_in(self, after_ms: int, end: Callable[[], None]) -> None:
        self._later.append((self._world.steady.now_ms + after_ms, end))


def _direction(variety: int) -> Direction:
    return "up" if variety % 2 else "down"


def _as_it_was(connection: Connection, transaction: object, old: int, new: int) -> None:
    """The upgrades up to the version before today's."""
    for step in STEPS:
        if old < step.to_version <= new:
            step.change(connection, transaction)  # type: ignore[arg-type]
