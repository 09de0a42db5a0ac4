"""What is wrong with the OneTalk tabs that are open (background/health.js).

What their pages say of themselves, and what this worker finds when it asks them. A
memory of this worker's life; Bright is told each change, and again on each connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from extension_harness.model.connection import Connection
from extension_harness.model.steps import Value

SILENT = "page_silent"
DEAD = "page_dead"
UNREACHED = "needs_reload"
CLOSED_DOORS = ("login_lost", "captcha")
"""While one of these lasts, asking on would only do harm."""
_BLIND = ("disconnected", SILENT)
"""While one of these lasts, a page may see nothing of what is said."""
MAX_TROUBLES = 16
_WORD = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class Patient:
    """A tab's page: what it says of itself, and what was found by asking it."""

    page_id: str
    account: str | None
    told: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def troubles(self) -> list[str]:
        """All of it, each once."""
        return sorted({*self.told, *self.found})


class Health:
    """By tab."""

    def __init__(
        self,
        connection: Connection,
        recovered: Callable[[str, bool], None],
        changed: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._recovered = recovered
        self._changed = changed
        self._tabs: dict[int, Patient] = {}

    @property
    def tabs(self) -> list[int]:
        """The tabs that something is known of."""
        return list(self._tabs)

    @property
    def is_any_troubled(self) -> bool:
        """Something is wrong with any of them."""
        return any(patient.troubles for patient in self._tabs.values())

    def of(self, tab_id: int) -> list[str]:
        """What is wrong in a tab."""
        patient = self._tabs.get(tab_id)
        return patient.troubles if patient else []

    def is_closed(self, tab_id: int) -> bool:
        """Its page lets nobody in: each further question is one too many."""
        return any(trouble in CLOSED_DOORS for trouble in self.of(tab_id))

    def is_out(self, tab_id: int) -> bool:
        """Nothing that its page is asked for will come."""
        deaf = (SILENT, DEAD, UNREACHED)
        return self.is_closed(tab_id) or any(each in deaf for each in self.of(tab_id))

    def opened(
        self, tab_id: int, page_id: str, account: str, before: Patient | None
    ) -> None:
        """A page is in its tab: whatever stood here of another one is over."""
        patient = self._tabs.get(tab_id)
        known = patient or before
        if known is not None and known.page_id != page_id:
            self.closed(tab_id, before)
        elif patient is not None and patient.account != account:
            self._tabs[tab_id] = moved = replace(patient, account=account)
            if moved.troubles:
                self._tell(page_id, account, moved.troubles, is_open=True)

    def told(
        self, tab_id: int, page_id: str, account: str | None, troubles: Value
    ) -> None:
        """A page says all that is wrong with it."""
        said = troubles if isinstance(troubles, list) else []
        words = [w for w in said if isinstance(w, str) and _WORD.fullmatch(w)]

        def change(before: Patient | None) -> Patient:
            is_same = before is not None and before.page_id == page_id
            is_dead = is_same and before is not None and DEAD in before.found
            return Patient(
                page_id,
                account,
                tuple(words[: MAX_TROUBLES - 3]),
                (DEAD,) if is_dead else (),
            )

        self._change(tab_id, change)

    def answered(self, tab_id: int, page_id: str) -> None:
        """A page answered, and not with nothing."""
        self._without(tab_id, page_id, (SILENT, UNREACHED))

    def lives(self, tab_id: int, page_id: str) -> None:
        """It showed what a dead one would not."""
        self._without(tab_id, page_id, (DEAD, SILENT, UNREACHED))

    def lied(self, tab_id: int, page_id: str, account: str) -> None:
        """It showed nothing where its own list told of something."""
        self._with(tab_id, page_id, account, DEAD)

    def silent(self, tab_id: int, page_id: str, account: str) -> None:
        """It was asked and did not answer in time."""
        self._with(tab_id, page_id, account, SILENT)

    def unanswered(self, tab_id: int) -> None:
        """Nobody knows the page in this tab, and it gave no answer."""
        known = self._tabs.get(tab_id) or Patient(f"tab-{tab_id}", None)
        self._with(tab_id, known.page_id, known.account, SILENT)

    def unreached(self, tab_id: int) -> None:
        """A OneTalk tab in which nobody listens."""
        self._with(tab_id, f"tab-{tab_id}", None, UNREACHED)

    def closed(self, tab_id: int, page: Patient | None) -> None:
        """The tab is gone, or shows another site; `page` was known in it."""
        patient = self._tabs.pop(tab_id, None)
        gone = page or patient
        if gone is not None:
            self._tell(gone.page_id, gone.account, [], is_open=False)
        if patient is not None:
            self._changed()

    def tell_all(self) -> None:
        """Bright has welcomed us: what is wrong now (OT-63)."""
        for patient in self._tabs.values():
            if patient.troubles:
                self._tell(
                    patient.page_id, patient.account, patient.troubles, is_open=True
                )

    def _with(
        self, tab_id: int, page_id: str, account: str | None, trouble: str
    ) -> None:
        def change(before: Patient | None) -> Patient:
            known = before if before and before.page_id == page_id else None
            found = known.found if known else ()
            told = known.told if known else ()
            return Patient(page_id, account, told, (*found, trouble))

        self._change(tab_id, change)

    def _without(self, tab_id: int, page_id: str, troubles: tuple[str, ...]) -> None:
        patient = self._tabs.get(tab_id)
        if patient is None:
            return
        is_same = patient.page_id == page_id
        if is_same and not any(each in patient.found for each in troubles):
            return

        def change(before: Patient | None) -> Patient | None:
            if before is None or before.page_id != page_id:
                return None
            left = tuple(each for each in before.found if each not in troubles)
            return replace(before, found=left)

        self._change(tab_id, change)

    def _change(
        self, tab_id: int, change: Callable[[Patient | None], Patient | None]
    ) -> None:
        before = self._tabs.get(tab_id)
        after = change(before)
        if after is None:
            self._tabs.pop(tab_id, None)
        else:
            self._tabs[tab_id] = after
        is_same = (before and before.page_id) == (after and after.page_id)
        if before is not None and not is_same:
            self._tell(before.page_id, before.account, [], is_open=False)
        was = before.troubles if before else []
        now = after.troubles if after else []
        if now == was and (is_same or not now):
            return
        if after is not None:
            self._tell(after.page_id, after.account, now, is_open=True)
        self._changed()
        ended = [each for each in was if each not in now]
        if ended and after is not None and after.account is not None:
            self._recovered(after.account, any(each in _BLIND for each in ended))

    def _tell(
        self, page_id: str, account: str | None, troubles: list[str], *, is_open: bool
    ) -> None:
        """Of an account that Bright does not take for us, nothing is told."""
        if self._connection.welcome is None:
            return
        if account is not None and account not in self._connection.accounts:
            return
        self._connection.send(
            {
                "type": "page.health",
                "pageId": page_id,
                "channelAccountId": account,
                "isOpen": is_open,
                "troubles": troubles,
            }
        )
