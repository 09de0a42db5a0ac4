"""What a behaviour of the model waits for: one value a step.

A behaviour is a generator. What lies between two steps is atomic, as what lies between
two awaits is in the extension; a worker may die at every step, and then its object is
forgotten: nothing of it but the disk stays.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from extension_harness.model.small_storage import SmallStorage
from storage_schema import Connection

Json: TypeAlias = dict[str, Any]
"""A JSON object as the wire, the page and the store have it."""

Value: TypeAlias = Any
"""A JSON value of whatever kind."""


class Awaited(Protocol):
    """A task of this life as one that waits for its end sees it."""

    name: str
    is_over: bool


@dataclass(frozen=True)
class Transact:
    """One verb of the store in one transaction.

    Its result is sent in; `StoreError` is raised in when the store refuses it. `name`
    is the extension's name of the function that asks the store.
    """

    name: str
    call: Callable[[Connection], Any]


@dataclass(frozen=True)
class OpenStore:
    """Waits until the store is open, without a transaction."""


@dataclass(frozen=True)
class Local:
    """One call of the browser's own: its small storage, alarms, tabs.

    `name` is the browser's name of it. The result is sent in.
    """

    name: str
    call: Callable[[SmallStorage], Any]


@dataclass(frozen=True)
class Digest:
    """The digests before a transaction are being made: others may run meanwhile."""


@dataclass(frozen=True)
class AskPage:
    """A question to a tab; its answer is sent in, or `PageError` raised in."""

    tab_id: int
    kind: str
    body: Mapping[str, Any]
    timeout_ms: float


@dataclass(frozen=True)
class Pause:
    """A timer of this life, in ms; it dies with it."""

    ms: float


@dataclass(frozen=True)
class Join:
    """Waits until other tasks of this life are over, however they ended."""

    tasks: tuple[Awaited, ...]


@dataclass(frozen=True)
class Within:
    """Waits until a task is over, at most so many ms: sends in whether it is."""

    task: Awaited
    ms: float


Step: TypeAlias = (
    Transact | OpenStore | Local | Digest | AskPage | Pause | Join | Within
)

T = TypeVar("T")
Behaviour: TypeAlias = Generator[Step, Any, T]
"""A part of the extension that waits; what it gives in the end is a `T`."""
