"""A history in a file: its scenario, and what was chosen in it, to be played again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extension_harness.simulation.course import Choice
from extension_harness.simulation.errors import ScheduleUnreadableError
from extension_harness.simulation.history import Outcome
from extension_harness.simulation.scenario import Scenario

_FORMAT = 1


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
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ScheduleUnreadableError(path, f"its format is not {_FORMAT}")
        scenario = Scenario.from_json(content["scenario"])
        schedule = tuple(tuple(choice) for choice in content["schedule"])
        return SavedHistory(scenario, schedule, str(content["plant"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScheduleUnreadableError(path, str(error)) from error


def _lines(content: dict[str, Any]) -> str:
    """JSON with one choice a line, so that it can be read and edited."""
    schedule: Sequence[Choice] = content.pop("schedule")
    head = json.dumps(content, indent=1)[:-2]
    choices = ",\n  ".join(json.dumps(choice) for choice in schedule)
    return f'{head},\n "schedule": [\n  {choices}\n ]\n}}\n'
