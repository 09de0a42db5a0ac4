"""What can go wrong with a simulation itself, as one tree under the harness's.

    HarnessError
    └── SimulationError
        ├── SimulationFaultError        the simulation, not what it simulates, failed
        ├── FolderUnusableError         where failures go cannot be made
        ├── ScheduleUnreadableError     a file is no schedule
        └── UnknownPlantError           there is no planted bug of that name

A broken promise is no error of a run but its result (`invariants.Violation`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from extension_harness.errors import HarnessError


class SimulationError(HarnessError):
    """The root of what a simulation raises on purpose."""


class SimulationFaultError(SimulationError):
    """The simulation itself did what it must not; nothing is said of the product."""


class ScheduleUnreadableError(SimulationError):
    """A file is not a schedule that `bright sim` has written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is no schedule ({why}): give a file that `bright sim` wrote"
        )


class FolderUnusableError(SimulationError):
    """The folder for what fails cannot be made or written to."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(
            f"{path} cannot be used ({error.strerror or error}): give another folder"
            " with --out"
        )


class UnknownPlantError(SimulationError):
    """There is no planted bug of that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(
            f"no planted bug is called {name!r}; there are: {', '.join(sorted(known))}"
        )
