"""A back end as the composition root sees it: one database, every door into it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from bright_server.authorization.contract import BindingLedger
from bright_server.clock import Clock
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.groups import ObservationStore
from bright_server.commit.reading import MessageReader
from bright_server.fanout.contract import OutboxPublisher
from bright_server.settings import Settings


class Backend(Protocol):
    """One open database; made and closed by a `BackendOpener`."""

    @property
    def observations(self) -> ObservationStore:
        """Return the door of observed batches and ledgers: one group, one commit."""
        ...

    @property
    def commits(self) -> MessageStore:
        """Return the door of single commits, step by step."""
        ...

    @property
    def publisher(self) -> OutboxPublisher:
        """Return the log that lies in the same database."""
        ...

    @property
    def bindings(self) -> BindingLedger:
        """Return who may connect, for which accounts."""
        ...

    @property
    def messages(self) -> MessageReader:
        """Return the committed messages, read apart from the writer."""
        ...

    async def prove_writable(self) -> None:
        """Write once, changing nothing, so that a server need not find out later.

        Raises:
            StoreUnavailable: it cannot be written, or not durably; and what to do.
        """
        ...


class BackendOpener(Protocol):
    """What each back end's `opened` is."""

    def __call__(
        self, settings: Settings, clock: Clock, membership: Membership = ...
    ) -> AbstractAsyncContextManager[Backend]:
        """Open the database of these settings, made anew where there is none.

        `membership` is asked before each page of history; without one nobody is a
        member (`NOBODY`).

        Raises:
            MessageStoreError: it cannot be opened, and what to do.
        """
        ...
