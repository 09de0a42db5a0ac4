"""Planted bugs: each a small change of the product, which the simulation has to find.

A plant is put into one world, never into the product's modules, so that it is gone with
the world. Each says in its docstring which rule it breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from bright_server.commit.groups import (
    Claim,
    ObservedBatch,
    Outcome,
    Progress,
    Work,
)
from bright_server.messages import ConversationKey
from bright_server.stores.sqlite.store import SqliteStore
from extension_harness.model.effects import Effect, PageRequest, Send
from extension_harness.model.errors import StoreError
from extension_harness.model.steps import Step, Transact
from extension_harness.simulation.device import Device
from extension_harness.simulation.errors import UnknownPlantError
from extension_harness.simulation.truth import Row
from extension_harness.simulation.world import World
from storage_schema import Connection
from storage_schema.onetalk import apply_results, update_checkpoint
from storage_schema.onetalk.names import CANDIDATES, MESSAGES, PROFILES
from storage_schema.onetalk.records import CheckpointRecord


class Plant:
    """No bug: the product as it is."""

    def put_into(self, world: World) -> None:
        """Change the world before anything has happened in it."""
        for device in world.devices:
            device.plant = self

    def effect(self, device: Device, effect: Effect) -> Effect:
        """Change what a worker asks for."""
        return effect

    def step(self, device: Device, step: Step | None) -> Step | None:
        """Change a step of a worker's task before it is done."""
        return step

    def answered(self, device: Device, body: Row, answer: Row) -> None:
        """Hear what a page answers to a question for history."""


class AckBeforeCommit(Plant):
    """Bright answers a group, then commits it (MS-27)."""

    def put_into(self, world: World) -> None:
        """See `Plant.put_into`."""
        world.disk.commits_late = True


class AnchorOnComplete(Plant):
    """The extension takes its own `sync.complete` for the proof of it (OT-50)."""

    def effect(self, device: Device, effect: Effect) -> Effect:
        """See `Plant.effect`."""
        if isinstance(effect, Send) and effect.frame["type"] == "sync.complete":
            frame = effect.frame
            self._complete(
                device,
                str(frame["channelAccountId"]),
                str(frame["conversationId"]),
                str(frame["latestMessageId"]),
            )
        return effect

    @staticmethod
    def _complete(device: Device, account: str, place: str, latest: str) -> None:
        def completed(before: CheckpointRecord) -> CheckpointRecord:
            return {**before, "phase": "completed", "anchorMessageId": latest}

        _write(device, lambda c: update_checkpoint(c, account, place, completed))


class ConfirmOnSend(Plant):
    """A batch that the socket took is taken for confirmed (OT-42)."""

    def effect(self, device: Device, effect: Effect) -> Effect:
        """See `Plant.effect`."""
        if isinstance(effect, Send) and effect.frame["type"] == "observation.batch":
            frame = effect.frame
            results: Any = [
                {
                    "candidateKey": each["candidateKey"],
                    "messageId": each["messageId"],
                    "status": "confirmed",
                    "sequence": 1,
                }
                for each in frame["messages"]
            ]
            scope = (str(frame["channelAccountId"]), str(frame["conversationId"]))
            _write(device, lambda c: apply_results(c, *scope, results, 1))
        return effect


class UploadWhileWaiting(Plant):
    """What waits for its anchor goes up with the rest (OT-41)."""

    def step(self, device: Device, step: Step | None) -> Step | None:
        """See `Plant.step`."""
        if not isinstance(step, Transact):
            return step
        if step.name == "pendingConversations":
            account = _arguments(step)[0]
            return _then(step, lambda c, found: _with_waiting(c, account, found))
        if step.name == "nextPending":
            account, place, limit = _arguments(step)
            return replace(
                step,
                call=lambda c: _pairs(
                    c, account, place, {"pending_ack", "awaiting_anchor"}
                )[:limit],
            )
        return step


class NewBeforeOld(Plant):
    """What is new overtakes the backlog (OT-42)."""

    def step(self, device: Device, step: Step | None) -> Step | None:
        """See `Plant.step`."""
        if isinstance(step, Transact) and step.name == "nextPending":
            account, place, limit = _arguments(step)
            return replace(
                step,
                call=lambda c: _pairs(c, account, place, {"pending_ack"})[-limit:],
            )
        return step


class MemoryCursor(Plant):
    """After a restart a walk goes on from a cursor that no store has (OT-70)."""

    def __init__(self) -> None:
        self._cursors: dict[tuple[int, str, str], int] = {}
        self._walks: set[tuple[int, int, str, str]] = set()

    def effect(self, device: Device, effect: Effect) -> Effect:
        """See `Plant.effect`."""
        if not isinstance(effect, PageRequest) or effect.kind != "history":
            return effect
        scope = (str(effect.body["channelAccountId"]), effect.body["conversationId"])
        cursor = self._cursors.get((device.number, *scope))
        walk = (device.number, device.boots, *scope)
        if cursor is None or walk in self._walks:
            return effect
        self._walks.add(walk)
        return replace(effect, body={**effect.body, "cursor": cursor})

    def answered(self, device: Device, body: Row, answer: Row) -> None:
        """See `Plant.answered`."""
        times = [row["sentAtMs"] for row in answer["page"]["observations"]]
        scope = (body["channelAccountId"], body["conversationId"])
        self._walks.add((device.number, device.boots, *scope))
        if times:
            self._cursors[device.number, *scope] = min(times)


class DeviceInKey(Plant):
    """Each device's messages are facts of their own (OT-03)."""

    def put_into(self, world: World) -> None:
        """See `Plant.put_into`."""
        world.server.wrap = lambda store: cast("SqliteStore", _PerBinding(store))


class ProfileByFingerprint(Plant):
    """An ACK confirms a profile of that fingerprint, whenever observed (OT-83)."""

    def step(self, device: Device, step: Step | None) -> Step | None:
        """See `Plant.step`."""
        if not isinstance(step, Transact) or step.name != "settleProfiles":
            return step
        account, answer, _ = _arguments(step)
        call = step.call

        def settle(connection: Connection) -> object:
            for mark in answer["confirmed"]:
                _with_any_time(connection, account, mark)
            return call(connection)

        return replace(step, call=settle)


PLANTS: Final[dict[str, Callable[[], Plant]]] = {
    "": Plant,
    "ack_before_commit": AckBeforeCommit,
    "anchor_on_complete": AnchorOnComplete,
    "confirm_on_send": ConfirmOnSend,
    "upload_while_waiting": UploadWhileWaiting,
    "profile_by_fingerprint": ProfileByFingerprint,
    "new_before_old": NewBeforeOld,
    "memory_cursor": MemoryCursor,
    "device_in_key": DeviceInKey,
}


def planted(name: str) -> Plant:
    """Return a planted bug by its name, "" for none; a new one for each history.

    Raises:
        UnknownPlantError: there is none of that name.
    """
    if name not in PLANTS:
        raise UnknownPlantError(name, PLANTS.keys() - {""})
    return PLANTS[name]()


class _PerBinding:
    """A store in which the binding is a part of each conversation's key."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        """Do the work under other keys."""
        return await self._store.commit_group([_rekeyed(work) for work in group])


def _rekeyed(work: Work) -> Work:
    if not isinstance(work, ObservedBatch | Progress | Claim):
        return work
    key = work.conversation
    name = f"{key.conversation_id}@{work.grant.binding_id}"
    return replace(work, conversation=ConversationKey(key.channel_account_id, name))


def _write(device: Device, call: Callable[[Connection], Any]) -> None:
    try:
        device.disk.run(call)
    except StoreError:
        return


def _then(step: Transact, change: Callable[[Connection, Any], Any]) -> Transact:
    call = step.call
    return replace(step, call=lambda c: change(c, call(c)))


def _arguments(step: Transact) -> tuple[Any, ...]:
    """What a verb was called with; the model keeps it in its step's closure."""
    names = step.call.__code__.co_freevars
    cells = step.call.__closure__ or ()
    found = dict(zip(names, cells, strict=True))["arguments"].cell_contents
    return tuple(found)


def _records(connection: Connection, store: str) -> list[Row]:
    with connection.transaction([store], "readonly") as transaction:
        return cast("list[Row]", transaction.object_store(store).get_all().result)


def _with_waiting(connection: Connection, account: str, found: list[str]) -> list[str]:
    waiting = {
        each["conversationId"]
        for each in _records(connection, CANDIDATES)
        if each["channelAccountId"] == account and each["status"] == "awaiting_anchor"
    }
    return sorted(waiting.union(found))


def _pairs(
    connection: Connection, account: str, place: str, statuses: set[str]
) -> list[Row]:
    messages = {each["key"]: each for each in _records(connection, MESSAGES)}
    by_id = {
        (each["channelAccountId"], each["conversationId"], each["messageId"]): each
        for each in messages.values()
    }
    return [
        {
            "candidate": each,
            "message": by_id[account, place, each["messageId"]],
        }
        for each in _records(connection, CANDIDATES)
        if (each["channelAccountId"], each["conversationId"]) == (account, place)
        and each["status"] in statuses
    ]


def _with_any_time(connection: Connection, account: str, mark: Row) -> None:
    """Make the mark's time that of whatever is pending with its fingerprint."""
    for each in _records(connection, PROFILES):
        pending = each.get("pending")
        if (
            (each["channelAccountId"], each["conversationId"])
            == (account, mark["conversationId"])
            and pending
            and pending["fingerprint"] == mark["fingerprint"]
        ):
            mark["observedAtMs"] = pending["observedAtMs"]
