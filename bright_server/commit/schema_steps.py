"""What a back end says of its schema, and how it is stepped forward. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bright_server.clock import Clock
from bright_server.settings import Settings


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """A numbered step: a file's name without its ending."""

    version: int
    name: str


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The version that a database has, 0 where it is empty, and the steps to come."""

    version: int
    due: Sequence[SchemaStep]


class SchemaSteps(Protocol):
    """What each back end's module `schema` has: `schema_state` and `step_forward`."""

    async def schema_state(self, settings: Settings) -> SchemaState:
        """Return what the database has; changes nothing, and makes none.

        Raises:
            StoreMissing: there is no such database.
            SchemaRefused: it is another program's, or needs a newer Bright.
            StoreUnavailable: it cannot be read.
        """
        ...

    async def step_forward(self, settings: Settings, clock: Clock) -> SchemaState:
        """Make the steps that are due and return the state after them.

        Raises:
            StoreMissing: there is no such database.
            SchemaRefused: it is another program's, or needs a newer Bright.
            StoreUnavailable: a step could not be made; the database is as it was.
        """
        ...
