"""The last fault, as the popup would show it (background/faults.js)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from extension_harness.model.errors import Fault
from extension_harness.model.steps import Json

_NOT_OPEN = (
    "store_blocked",
    "store_waiting",
    "store_newer",
    "store_unavailable",
    "upgrade_failed",
)


@dataclass(frozen=True)
class ShownFault:
    """A fault, since when, and the account it is about where that is known."""

    code: str
    message: str
    at_ms: int
    account: str | None = None


class Faults:
    """What went wrong last, and what lasts."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._last: ShownFault | None = None
        self._lasting: ShownFault | None = None
        self._is_brights = False

    @property
    def last(self) -> ShownFault | None:
        """What is to be shown now."""
        return self._lasting or self._last

    def hold(self, fault: Fault) -> None:
        """The store is not open, and this is why."""
        if self._lasting is None or self._lasting.code != fault.code:
            self._lasting = ShownFault(fault.code, fault.message, self._now())

    def release(self) -> bool:
        """The store is open; gives whether it was not, before."""
        was_held = self._lasting is not None
        self._lasting = None
        return was_held

    def add(self, fault: Fault) -> None:
        """Something went wrong on this side."""
        lasting = self._lasting.code if self._lasting else None
        if fault.code not in _NOT_OPEN and lasting != fault.code:
            self._is_brights = False
            self._last = ShownFault(fault.code, fault.message, self._now())

    def refused(self, error: Json, foreign: Sequence[str]) -> None:
        """Bright refused something for good."""
        account = error["channelAccountId"]
        if account is None and error["code"] == "out_of_scope" and foreign:
            account = foreign[0]
        self._is_brights = True
        self._last = ShownFault(error["code"], error["message"], self._now(), account)

    def reconfigured(self) -> None:
        """Another server or token: what the last one said is over."""
        if self._is_brights:
            self._last = None

    def welcomed(self, accounts: Sequence[str]) -> None:
        """Bright has welcomed us for these accounts."""
        last = self._last
        if last is None or last.code != "out_of_scope":
            return
        if last.account is None or last.account in accounts:
            self._last = None
