"""Whether there is anything to be connected for (background/presence.js)."""

from __future__ import annotations

from collections.abc import Callable

from extension_harness.model.connection import Connection
from extension_harness.model.effects import ClearAlarm, SetAlarm
from extension_harness.model.ledger_uplink import LedgerUplink
from extension_harness.model.pages import Pages
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json, Local
from extension_harness.model.store import CheckpointPages, verb
from extension_harness.model.sync import Sync
from extension_harness.model.tasks import Life
from storage_schema.onetalk import count_candidates, known_accounts


class Presence:
    """With nothing to do the socket closes after a grace, and the alarm goes."""

    def __init__(
        self,
        life: Life,
        connection: Connection,
        pages: Pages,
        sync: Sync,
        ledgers: LedgerUplink,
        settings: Callable[[], Settings],
        guard: Callable[[str, Behaviour[None]], None],
    ) -> None:
        self._life = life
        self._connection = connection
        self._pages = pages
        self._sync = sync
        self._ledgers = ledgers
        self._settings = settings
        self._guard = guard
        self._idle_timer: int | None = None
        self._is_settling = False
        self._again = False

    def busy(self) -> None:
        """There is work: connect, and be woken if this worker dies before its end."""
        self._again = True
        self._stay()

    def _stay(self) -> None:
        self._life.cancel(self._idle_timer)
        self._idle_timer = None
        self._connection.want(wanted=True)
        self._guard("set alarm", set_alarm(self._life))

    def settle(self) -> Behaviour[None]:
        """Looks whether there is work left, and acts on it."""
        self._again = True
        if self._is_settling:
            return
        self._is_settling = True
        try:
            while self._again:
                self._again = False
                if self._is_watching() or (yield from self._is_unfinished()):
                    self._stay()
                    return
            if self._idle_timer is None:
                self._idle_timer = self._life.after(
                    self._rest, self._settings().idleGraceMs
                )
        finally:
            self._is_settling = False

    def _is_watching(self) -> bool:
        is_page_open = self._pages.is_any_open
        stays = self._settings().connectWhilePageOpen and is_page_open
        return stays or self._sync.has_work

    def _rest(self) -> None:
        self._idle_timer = None
        self._connection.want(wanted=False)
        self._guard("clear alarm", clear_alarm(self._life))

    def _is_unfinished(self) -> Behaviour[bool]:
        """Anything that waits for an ACK or for its anchor."""
        accounts = yield from verb("knownAccounts", known_accounts)
        for account in accounts:
            pending = yield from verb(
                "countCandidates", count_candidates, account, "pending_ack"
            )
            if pending > 0:
                return True
            pages = CheckpointPages(account)
            while page := (yield from pages.next()):
                if any(map(_is_open, page)):
                    return True
            if (yield from self._ledgers.is_unfinished(account)):
                return True
        return False


def _is_open(checkpoint: Json) -> bool:
    return (
        bool(checkpoint["historyComplete"])
        and not checkpoint.get("isBehind")
        and checkpoint["phase"] == "uploading"
        and checkpoint["result"] is None
    )


def set_alarm(life: Life) -> Behaviour[None]:
    """Wakes the worker every 30 s; an alarm that is set stays as it is."""
    is_set = yield Local("alarms.get", lambda disk: disk.has_alarm)
    if not is_set:
        yield Local("alarms.create", lambda disk: setattr(disk, "has_alarm", True))
        life.do(SetAlarm())


def clear_alarm(life: Life) -> Behaviour[None]:
    """No more alarms."""
    yield Local("alarms.clear", lambda disk: setattr(disk, "has_alarm", False))
    life.do(ClearAlarm())
