"""How often a message may be sent in an account's name (background/pace.js)."""

from __future__ import annotations

from collections.abc import Callable

from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Local
from extension_harness.model.tasks import Life
from extension_harness.model.turns import Turns

MINUTE_MS = 60_000
KEY = "sentAtMs"


class Pace:
    """Kept in the browser's session: a worker that comes back is no faster for it."""

    def __init__(self, life: Life, settings: Callable[[], Settings]) -> None:
        self._life = life
        self._settings = settings
        self._turns = Turns(life)

    def take(self, account: str) -> Behaviour[bool]:
        """Takes one message's place; False: it is too soon, or there were too many."""
        # Two that look at the same moment would both find the place free.
        return (yield from self._turns.take(KEY, lambda: self._take_now(account)))

    def _take_now(self, account: str) -> Behaviour[bool]:
        settings, now_ms = self._settings(), self._life.now()
        found = yield Local("storage.session.get", lambda disk: disk.session.get(KEY))
        stored = dict(found or {})
        sent = stored.get(account)
        recent = [
            at_ms
            for at_ms in (sent if isinstance(sent, list) else [])
            if abs(now_ms - at_ms) < MINUTE_MS
        ]
        is_too_soon = any(abs(now_ms - at) < settings.sendGapMs for at in recent)
        if is_too_soon or len(recent) >= settings.sendMaxPerMinute:
            return False
        kept = {KEY: {**stored, account: [*recent, now_ms]}}
        yield Local("storage.session.set", lambda disk: disk.session.update(kept))
        return True
