"""What a history is about, drawn from its seed before anything happens."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from random import Random
from typing import Any, Final

FAULTS: Final = (
    "worker_killed",
    "browser_killed",
    "server_killed",
    "server_cut_in_transaction",
    "server_restarted",
    "server_disk_failed",
    "connection_cut",
    "frame_doubled",
    "frames_delayed",
    "frames_reordered",
    "half_open",
    "browser_clock_jumped",
    "server_clock_jumped",
    "quota_met",
    "store_closed",
    "binding_revoked",
    "authority_down",
    "store_restored",
    "tab_reloaded",
    "tabs_closed",
    "page_silent",
)
"""The kinds of fault that the scheduler may choose at any step.

Three more are drawn with the scenario: an upgrade that is blocked when the browser
starts, a second device of the same account, and pages that show rows in any order.
"""

_COMMON: Final = ("worker_killed", "tabs_closed")
_MOST_FAULTS: Final = 8


@dataclass(frozen=True, slots=True)
class Scenario:
    """The setting of a history; with equal schedules, equal ones are the same."""

    seed: int
    device_accounts: tuple[tuple[str, ...], ...]
    conversations: int
    history: int
    """Messages of each conversation before anything begins."""
    live: int
    """Messages that come later."""
    steps: int
    """Choices, of which each may be a step of anything."""
    calms: tuple[int, ...]
    """At which of them everything comes to rest first, as in a quiet night."""
    is_authority_remote: bool
    is_page_shuffled: bool
    blocked: tuple[int, ...]
    """Devices whose store is held by an older version when they start."""
    faults: tuple[str, ...]
    most_faults: int

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Scenario:
        """Read what `as_json` gave.

        Raises:
            KeyError, TypeError: it is none.
        """
        known = {each.name: given[each.name] for each in fields(cls)}
        known["device_accounts"] = tuple(map(tuple, known["device_accounts"]))
        known["blocked"] = tuple(known["blocked"])
        known["faults"] = tuple(known["faults"])
        known["calms"] = tuple(known["calms"])
        return cls(**known)


def drawn(seed: int) -> Scenario:
    """Draw the scenario of a seed.

    Each history allows only some of the faults: those that hide each other are then
    apart in many of them.
    """
    rng = Random(f"scenario {seed}")  # noqa: S311 - a seed is the point
    devices = rng.choice(
        (
            (("a",),),
            (("a",),),
            (("a",),),
            (("a",),),
            (("a",), ("a",)),
            (("a", "b"),),
            (("a",), ("b",)),
            (("a", "b"), ("a",)),
            (("a",), ("a",), ("b",)),
        )
    )
    allowed = rng.sample(FAULTS, rng.randint(1, 7)) if rng.random() < 0.95 else []
    allowed += [kind for kind in _COMMON if allowed and rng.random() < 0.4]
    steps = rng.choice((50, 100, 160, 240))
    return Scenario(
        seed=seed,
        device_accounts=devices,
        conversations=rng.choice((1, 1, 2, 3)),
        history=rng.choice((0, 1, 2, 3, 5, 7)),
        live=rng.randint(1, 8),
        steps=steps,
        calms=rng.choice(((), (0,), (0,), (0, steps // 2), (steps // 2,))),
        is_authority_remote=rng.random() < 0.3,
        is_page_shuffled=rng.random() < 0.4,
        blocked=tuple(n for n in range(len(devices)) if rng.random() < 0.05),
        faults=tuple(dict.fromkeys(allowed)),
        most_faults=rng.randint(1, _MOST_FAULTS),
    )
