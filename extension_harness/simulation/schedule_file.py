"""A history in a file: its scenario, and what was chosen in it, to be played again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from extension_harness.simulation.course import Choice
from extension_harness.simulation.errors import ScheduleUnreadableError
from extension_harness.simulation.history import Outcome
from extension_harness.simulation.scenario import FAULTS, Scenario

_FORMAT = 1
_LARGEST: Final = 1_000_000
"""No number of a file but the seed is larger: its history would hardly end."""

_ARITIES: Final = {
    "accept": 1,
    "answer": 3,
    "calm": 0,
    "card": 2,
    "down": 1,
    "facts": 2,
    "idle": 1,
    "render": 2,
    "say": 3,
    "serve": 0,
    "speak": 2,
    "spoil": 2,
    "start": 1,
    "step": 2,
    "tell": 0,
    "tick": 0,
    "up": 1,
    "write": 0,
}
"""How many numbers stand behind each kind of choice; `fault` has its own kind first."""

_COUNTS: Final = {
    "conversations": 1,
    "history": 0,
    "live": 0,
    "steps": 1,
    "most_faults": 0,
}
"""The least of each number of a scenario."""


@dataclass(frozen=True, slots=True)
class SavedHistory:
    """What a file holds; `plant` names the planted bug it ran with, "" for none."""

    scenario: Scenario
    schedule: tuple[Choice, ...]
    plant: str


def written(path: Path, outcome: Outcome, plant: str) -> Path:
    """Write a history into a file, folders made; returns the path."""
    violation = outcome.violation
    content = {
        "format": _FORMAT,
        "plant": plant,
        "promise": violation.promise if violation else None,
        "what": violation.what if violation else None,
        "digest": outcome.digest,
        "scenario": outcome.scenario.as_json(),
        "schedule": outcome.schedule,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_lines(content), encoding="utf-8")
    return path


def read(path: Path) -> SavedHistory:
    """Read a history.

    Raises:
        ScheduleUnreadableError: the file is not there, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _history(content)
    except KeyError as error:
        raise ScheduleUnreadableError(path, f"it has no {error}") from error
    except RecursionError as error:
        raise ScheduleUnreadableError(path, "it is nested too deep") from error
    except (OSError, ValueError, TypeError) as error:
        raise ScheduleUnreadableError(path, str(error)) from error


def _history(content: object) -> SavedHistory:
    """Take what a file holds.

    Raises:
        KeyError, TypeError, ValueError: what of it is missing or wrong.
    """
    if not isinstance(content, dict):
        raise TypeError("it is no object")
    if content["format"] != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT}")
    plant = content["plant"]
    if not isinstance(plant, str):
        raise TypeError(f"plant is {_short(plant)}, not a text")
    schedule = _list(content["schedule"], "schedule")
    return SavedHistory(
        _scenario(content["scenario"]),
        tuple(_choice(each, f"schedule[{n}]") for n, each in enumerate(schedule)),
        plant,
    )


def _scenario(given: object) -> Scenario:
    if not isinstance(given, dict):
        raise TypeError("scenario is no object")
    _number(given["seed"], "scenario.seed", least=None)
    for name, least in _COUNTS.items():
        _number(given[name], f"scenario.{name}", least)
    for name in ("is_authority_remote", "is_page_shuffled"):
        if not isinstance(given[name], bool):
            wrong = _short(given[name])
            raise TypeError(f"scenario.{name} is {wrong}, not true or false")
    for name in ("calms", "blocked"):
        for each in _list(given[name], f"scenario.{name}"):
            _number(each, f"scenario.{name}")
    for each in _list(given["faults"], "scenario.faults"):
        _fault(each, "scenario.faults")
    where = "scenario.device_accounts"
    for accounts in _list(given["device_accounts"], where, least=1):
        for account in _list(accounts, where, least=1):
            if not isinstance(account, str) or not account:
                raise ValueError(f"{where} has {_short(account)}, which is no account")
    return Scenario.from_json(given)


def _choice(given: object, where: str) -> Choice:
    kind, *numbers = _list(given, where, least=1)
    if kind == "fault":
        if not numbers:
            raise ValueError(f"{where} is a fault of no kind")
        _fault(numbers.pop(0), where)
        arity = 2
    elif isinstance(kind, str) and kind in _ARITIES:
        arity = _ARITIES[kind]
    else:
        raise ValueError(f"{where} is of no known kind: {_short(kind)}")
    if len(numbers) != arity:
        raise ValueError(f"{where} has {len(numbers)} numbers, {kind} takes {arity}")
    for number in numbers:
        _number(number, where)
    if kind == "say":
        _number(numbers[-1], where, 1)
    return tuple(_list(given, where))


def _fault(given: object, where: str) -> None:
    if given not in FAULTS:
        raise ValueError(f"{where} has a fault of no known kind: {_short(given)}")


def _list(given: object, where: str, least: int = 0) -> list[Any]:
    if not isinstance(given, list) or len(given) < least:
        few = " with something in it" if least else ""
        raise ValueError(f"{where} is {_short(given)}, not a list{few}")
    return given


def _number(given: object, where: str, least: int | None = 0) -> None:
    """Refuse what is no whole number, or out of bounds where there is a `least`."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"{where} has {_short(given)}, not a whole number")
    if least is not None and not least <= given <= _LARGEST:
        raise ValueError(f"{where} has {given}, not {least} to {_LARGEST}")


def _short(given: object) -> str:
    return ascii(given)[:60]


def _lines(content: dict[str, Any]) -> str:
    """JSON with one choice a line, so that it can be read and edited."""
    schedule: Sequence[Choice] = content.pop("schedule")
    head = json.dumps(content, indent=1)[:-2]
    choices = ",\n  ".join(json.dumps(choice) for choice in schedule)
    return f'{head},\n "schedule": [\n  {choices}\n ]\n}}\n'
