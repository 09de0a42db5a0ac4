"""The switches of the page: surfaces, trouble, and the ways in which it misbehaves.

`Switches` is the frozen state of all of them; `SwitchBoard` holds the current one and
tells listeners when it changes. docs/simulated-page.md has the table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace

from extension_harness.page.errors import UnknownSwitchError


@dataclass(frozen=True, slots=True)
class Switches:
    """Every switch of the page, with the value of a page in good health."""

    # Surfaces, each on its own.
    http_recent: bool = True
    http_legacy: bool = True
    sdk: bool = True
    emitter: bool = True
    full_list: bool = True
    vm_cache: bool = True
    unread: bool = True
    lwp: str = "control"  # off, control, bodies
    # Login and the account.
    login: str = "valid"  # valid, redirect, html, has_login_false, code
    account: str = ""  # another account's page: its own aliId, no conversations
    encrypted_generation: int = 0  # another number: every encrypted id is another one
    # Trouble of the server's answers.
    http_status: int = 200  # 429, 503: what the message endpoints answer
    captcha: bool = False
    delay_ms: int = 0  # before each answer of the message endpoints and the SDK
    sdk_silent: bool = False  # the SDK's history never calls back
    # Trouble of the page.
    banner: str = "none"  # none, false_alarm, disconnected
    loading: bool = False  # "Alibaba is loading", for ever; takes effect at a load
    zombie: bool = (
        False  # open, and dead: lists empty, no events, searches find nothing
    )
    second_instance: bool = True  # getMessageServiceV2() is not the live instance
    send_echo: str = "before_promise"  # before_promise, after_promise, never
    clock_offset_ms: int = 0  # of the page's times against this machine's clock
    # What history pages do.
    page_size_bias: int = 0  # rows more or fewer than asked for
    duplicate_rows: bool = False  # every page shows its first row twice
    omit_every: int = 0  # every n-th row is missing from pages
    shuffle_rows: bool = False
    cursor_stuck: frozenset[str] = frozenset()  # M06: conversations, by id
    empty_pages: bool = True  # M08: now and then a page is empty with hasMore

    def public(self) -> dict[str, object]:
        """Return them as JSON-ready values."""
        values = asdict(self)
        values["cursor_stuck"] = sorted(self.cursor_stuck)
        return values


CHOICES: dict[str, tuple[object, ...]] = {
    "lwp": ("off", "control", "bodies"),
    "login": ("valid", "redirect", "html", "has_login_false", "code"),
    "banner": ("none", "false_alarm", "disconnected"),
    "send_echo": ("before_promise", "after_promise", "never"),
}
Listener = Callable[[Switches], None]


class SwitchBoard:
    """The current switches; may be read and set from any thread."""

    def __init__(self, initial: Switches | None = None) -> None:
        self._lock = threading.Lock()
        self._current = initial or Switches()
        self._listeners: list[Listener] = []

    @property
    def current(self) -> Switches:
        """The switches of this moment, as one consistent record."""
        return self._current

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each change, in the thread that made the change."""
        self._listeners.append(listener)

    def set(self, **changes: object) -> Switches:
        """Change some switches at once and return them all.

        Raises:
            UnknownSwitchError: a name or a value does not exist; nothing was changed.
        """
        for name, value in changes.items():
            _check(name, value)
        if "cursor_stuck" in changes:
            changes["cursor_stuck"] = frozenset(_strings(changes["cursor_stuck"]))
        with self._lock:
            self._current = replace(self._current, **changes)  # type: ignore[arg-type]
            current = self._current
        for listener in self._listeners:
            listener(current)
        return current

    def reset(self) -> Switches:
        """Set every switch to the value of a page in good health."""
        defaults = Switches()
        return self.set(**{f.name: getattr(defaults, f.name) for f in fields(Switches)})


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, _MANY) else []


_MANY = (list, tuple, set, frozenset)


def _check(name: str, value: object) -> None:
    known = {field.name: getattr(Switches(), field.name) for field in fields(Switches)}
    if name not in known:
        raise UnknownSwitchError(f"no switch {name!r}; there are {', '.join(known)}")
    if name in CHOICES and value not in CHOICES[name]:
        raise UnknownSwitchError(f"{name} is one of {CHOICES[name]}, not {value!r}")
    default = known[name]
    right = isinstance(
        value, _MANY if isinstance(default, frozenset) else type(default)
    )
    if not right or isinstance(value, bool) != isinstance(default, bool):
        kind = "list" if isinstance(default, frozenset) else type(default).__name__
        raise UnknownSwitchError(f"{name} takes a {kind}, not {value!r}")
