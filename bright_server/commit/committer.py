"""The only boundary that turns a commit into an ACK (MS-02, MS-27).

It looks what is persisted of a key and goes forward from there, one durable step after
the other, until it is committed. Whatever goes wrong on the way, it never argues with
what it remembers: it looks again (MS-25). After a bounded number of attempts it leaves
the commit to whoever sends it again, and to recovery.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeAlias

from bright_server.commit.contract import MessageStore
from bright_server.commit.encoding import envelope_of
from bright_server.commit.fault_points import NO_FAULTS, FaultPoint, FaultPoints
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    FrozenDelivery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
)
from bright_server.errors import (
    CommitConflict,
    CommitError,
    CommitLogError,
    CommitUnavailable,
    CommitUnknown,
    IdentityConflict,
    InvalidClientMessageId,
    MessageStoreError,
    NothingToResume,
    PublicationConflict,
    PublicationNotDurable,
    Recoverable,
    SendRefused,
    StoreUnavailable,
    WrongCommitState,
)
from bright_server.fanout.contract import OutboxPublisher
from bright_server.settings import Settings

logger = logging.getLogger(__name__)

Look: TypeAlias = Callable[[], Awaitable[LoadedCommit | None]]

# After these, looking again may well show something else.
_PASSING = (
    StoreUnavailable,
    WrongCommitState,
    PublicationConflict,
    CommitUnknown,
    PublicationNotDurable,
)


class Admission(Protocol):
    """Decides what may be committed, before anything is reserved (MS-10)."""

    def check_form(self, request: AuthenticatedSend) -> None:
        """Judge whether such a request can be at all, before the store is asked.

        Raises:
            InvalidClientMessageId: the client's id cannot be one.
            SendRefused: it holds text that no store can keep.
        """
        ...

    async def admit(
        self, request: AuthenticatedSend, candidate: ReserveCandidate
    ) -> None:
        """Judge the whole request, and take its share of the sender's quota.

        Raises:
            InvalidClientMessageId: it does not fit the candidate.
            SendRefused: the sender is no member, or content or quota forbid it.
            StoreUnavailable: it cannot be told.
        """
        ...


class DurableCommitter:
    """See `MessageCommitter`."""

    def __init__(
        self,
        store: MessageStore,
        publisher: OutboxPublisher,
        admission: Admission,
        settings: Settings,
        faults: FaultPoints = NO_FAULTS,
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._admission = admission
        self._settings = settings
        self._faults = faults
        self._under_way = 0
        self._stuck: OrderedDict[CommitKey, None] = OrderedDict()

    async def commit(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> CommittedMessage:
        """See `MessageCommitter.commit`."""
        self._admission.check_form(request)
        is_admitted = False

        async def reserved() -> LoadedCommit:
            nonlocal is_admitted
            there = await self._store.load_commit_for_request(request)
            if there is not None:
                # What was reserved once is admitted, and was counted (MS-26).
                return there
            if not is_admitted:
                await self._admission.admit(request, candidate)
                is_admitted = True
            await self._faults.reach(FaultPoint.BEFORE_RESERVE)
            there = await self._store.reserve(request, delivery, candidate)
            await self._faults.reach(FaultPoint.AFTER_RESERVE)
            return there

        with self._one_more(request.key):
            committed = await self._finished(request.key, reserved)
        assert committed is not None  # noqa: S101 - `reserved` always finds something
        return committed

    async def resume(self, key: CommitKey) -> CommittedMessage:
        """See `MessageCommitter.resume`."""

        async def persisted() -> LoadedCommit | None:
            conversation = await self._store.conversation_of(key)
            if conversation is None:
                return None
            return await self._store.load_commit(key, conversation)

        committed = await self._finished(key, persisted)
        if committed is None:
            raise NothingToResume(
                f"nothing was reserved for the id {key.client_message_id!a}"
            )
        return committed

    async def resume_existing(
        self, request: AuthenticatedSend
    ) -> CommittedMessage | None:
        """See `MessageCommitter.resume_existing`."""
        try:
            self._admission.check_form(request)
        except (InvalidClientMessageId, SendRefused):
            return None  # never reserved, for it cannot be

        async def persisted() -> LoadedCommit | None:
            return await self._store.load_commit_for_request(request)

        with self._one_more(request.key):
            return await self._finished(request.key, persisted)

    async def recover_due(self, older_than_ms: int, max_items: int) -> int:
        """See `MessageCommitter.recover_due`."""
        due = await self._due(older_than_ms, max_items)
        await self._faults.reach(FaultPoint.DUE_READ)
        at_once = asyncio.Semaphore(self._settings.max_recovery_at_once)

        async def recovered(key: CommitKey) -> bool:
            async with at_once:
                return await self._is_recovered(key)

        async with asyncio.TaskGroup() as together:
            tasks = [together.create_task(recovered(key)) for key in due]
        return sum(task.result() for task in tasks)

    async def readiness(self) -> None:
        """See `MessageCommitter.readiness`."""
        try:
            await self._store.readiness()
            await self._publisher.readiness()
        except (MessageStoreError, CommitLogError) as error:
            raise CommitUnavailable(str(error)) from error

    async def _finished(self, key: CommitKey, look: Look) -> CommittedMessage | None:
        """Go forward from what is persisted, and look again whenever that fails."""
        pause_seconds = self._settings.commit_retry_seconds
        for attempt in range(self._settings.max_commit_attempts):
            if attempt:
                await asyncio.sleep(pause_seconds)
                pause_seconds *= 2
            try:
                there = await look()
                while isinstance(there, CommitIntent):
                    there = await self._advanced(there)
            except IdentityConflict as error:
                raise CommitConflict(str(error)) from error
            except _PASSING as error:
                logger.info(
                    "the commit of %r goes on: %s", key.client_message_id, error
                )
                reason: Exception = error
            except (MessageStoreError, CommitLogError) as error:
                raise Recoverable(key.client_message_id, str(error)) from error
            else:
                return there
        raise Recoverable(key.client_message_id, str(reason)) from reason

    async def _advanced(self, intent: CommitIntent) -> LoadedCommit:
        """Take the one next step of an intent."""
        if intent.state is CommitState.RESERVED:
            await self._store.put_record(intent)
            await self._faults.reach(FaultPoint.AFTER_RECORD)
            return replace(intent, state=CommitState.RECORDED)
        if intent.state is CommitState.RECORDED:
            position = await self._publisher.publish(envelope_of(intent))
            await self._faults.reach(FaultPoint.AFTER_PUBLISH)
            committed = await self._store.mark_published_and_committed(
                intent, OutboxPublication(position)
            )
        else:
            committed = await self._store.mark_committed(intent)
        await self._faults.reach(FaultPoint.AFTER_COMMIT)
        return committed

    @contextmanager
    def _one_more(self, key: CommitKey) -> Iterator[None]:
        if self._under_way >= self._settings.max_commits_under_way:
            raise Recoverable(
                key.client_message_id,
                f"{self._under_way} commits are under way"
                " (BRIGHT_MAX_COMMITS_UNDER_WAY)",
            )
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _due(self, older_than_ms: int, max_items: int) -> Sequence[CommitKey]:
        """Return what is due, those last that could not be finished before.

        They are the oldest, and would otherwise be all that is ever read.
        """
        try:
            due = await self._store.scan_recoverable_commits(
                older_than_ms, max_items + len(self._stuck)
            )
        except MessageStoreError as error:
            raise CommitUnavailable(str(error)) from error
        keys = [intent.key for intent in due]
        if len(due) < max_items + len(self._stuck):
            # All that is due was read: whoever is not among it was finished elsewhere.
            self._stuck = OrderedDict.fromkeys(
                key for key in keys if key in self._stuck
            )
        return sorted(keys, key=lambda key: key in self._stuck)[:max_items]

    async def _is_recovered(self, key: CommitKey) -> bool:
        try:
            await self.resume(key)
        except CommitError as error:
            logger.warning("%r was not recovered: %s", key.client_message_id, error)
        except Exception:
            # A fault of this program over one commit must not hold up the others.
            logger.exception("%r was not recovered", key.client_message_id)
        else:
            self._stuck.pop(key, None)
            await self._faults.reach(FaultPoint.ONE_RESUMED)
            return True
        self._stuck[key] = None
        self._stuck.move_to_end(key)
        while len(self._stuck) > self._settings.max_stuck_commits:
            self._stuck.popitem(last=False)
        return False
