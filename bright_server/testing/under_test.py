"""What a back end gives to the contract suites, so that they can open and judge it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast, runtime_checkable

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership
from bright_server.commit.records import CommitKey


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a back end claims; the suites hold it to all of it and to nothing more.

    Attributes:
        atomic_step: `mark_published_and_committed` is one atomic step (MS-23).
        durable: what was acknowledged outlives the process.
        several_openings: it may be open more than once at a time, as it is when
            several server processes share it.
        several_group_writers: groups may be committed through several openings at
            once; otherwise one server is the only writer of groups.
        expires_history: history lets go of a record when its time has come.
        keeps_bytes: what it has kept may turn out to be unreadable, as on any disk.
        groups: it is a whole `Backend`. One for single commits alone has `commits`,
            `publisher` and `prove_writable`; `bright serve` could not use it.
    """

    atomic_step: bool = True
    durable: bool = True
    several_openings: bool = True
    several_group_writers: bool = False
    expires_history: bool = True
    keeps_bytes: bool = True
    groups: bool = True


class StoreUnderTest(Protocol):
    """One store of its own for one test, which may be opened again and again."""

    @property
    def can(self) -> Capabilities:
        """Return what the back end claims."""
        ...

    @property
    def spec(self) -> str | None:
        """Return how another process makes this very object; see `from_spec`.

        `package.module:function argument`: it calls the function with the argument,
        which is one text. None: no other process can open the store.
        """
        ...

    def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AbstractAsyncContextManager[Backend]:
        """Open the store; opened again after it was closed, that is a restart.

        `changes` are settings by their names.
        """
        ...

    async def published(self, backend: Backend) -> Sequence[str]:
        """Return the key of every envelope in the log, in the order of each partition.

        An observed message of a group counts as what `envelope_of` would have called
        it. A key that was published twice is there twice.
        """
        ...

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        """Overwrite the persisted identity of a commit, as an older server wrote it."""
        ...

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        """Overwrite what is persisted of an open commit, and return what it was.

        That is what `encode_frozen` made of it. Only asked of a store that keeps bytes.
        """
        ...


@runtime_checkable
class CanBeUnwritable(Protocol):
    """What a store under test has beside `StoreUnderTest` if its writing can be broken.

    Without it nothing certifies that readiness would notice (MS-15).
    """

    def unwritable(self, backend: Backend) -> AbstractAsyncContextManager[None]:
        """Have the database of an open back end refuse writes while the block lasts.

        Reading goes on, as on a disk that is full or a server that is read-only. It is
        done beneath the store, which does not know of it; afterwards all is as before.
        """
        ...


def from_spec(spec: str) -> StoreUnderTest:
    """Return the store of a spec, in this process."""
    name, _, argument = spec.partition(" ")
    module, _, function = name.partition(":")
    return cast("StoreUnderTest", getattr(import_module(module), function)(argument))
