"""What has to be so once everything has come to rest: all of it, on every disk."""

from __future__ import annotations

from collections.abc import Iterator

from extension_harness.simulation.device import Device
from extension_harness.simulation.world import World
from storage_schema.onetalk.names import (
    BUYER_FACTS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
    PROFILES,
)

_SEQUENCES = """
SELECT count(m.position), coalesce(min(m.sequence), 0), coalesce(max(m.sequence), 0),
    c.last_sequence, c.conversation_id
FROM conversation AS c LEFT JOIN message AS m USING (conversation)
GROUP BY c.conversation
"""
_OUTBOX = """
SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM message),
    (SELECT count(*) FROM outbox JOIN message ON outbox.message = message.position
     WHERE outbox.position = message.position)
"""

Fault = tuple[str, str]
"""A promise, and how it is not kept."""


def faults_at_rest(world: World) -> Iterator[Fault]:
    """Yield what is not (yet) as it has to be in the end."""
    stored = world.witness.bright.stored
    for scope in world.truth.by_scope:
        if scope not in stored:
            yield "no_loss", f"Bright does not have {scope}"
    yield from _bright_faults(world)
    for device in world.devices:
        yield from _device_faults(world, device)


def _bright_faults(world: World) -> Iterator[Fault]:
    database = world.disk.database
    for count, least, most, last, name in database.execute(_SEQUENCES):
        if (count, count) != (most, last) or (count and least != 1):
            yield "order", f"the sequences of {name} have a gap or a double (MS-20)"
    outbox, messages, fitting = database.execute(_OUTBOX).fetchone()
    if not outbox == messages == fitting:
        yield "no_loss", f"{messages} messages, {outbox} outbox rows, {fitting} fit"
    for place, conversation in world.truth.conversations.items():
        if not conversation.messages:
            continue
        newest = conversation.messages[-1].message_id
        if world.witness.bright.anchors.get(place) != newest:
            yield "anchored", f"Bright's anchor of {place} is not {newest}"


def _device_faults(world: World, device: Device) -> Iterator[Fault]:
    witness = world.witness.of(device)
    for record in witness.records(CANDIDATES):
        if record["status"] != "confirmed":
            name, status = record["messageId"], record["status"]
            yield "no_loss", f"{name} stays {status} on device {device.number}"
    facts = {(r["channelAccountId"], r["conversationId"], r["messageId"])
             for r in witness.records(MESSAGES)}  # fmt: skip
    checkpoints = {
        (r["channelAccountId"], r["conversationId"]): r
        for r in witness.records(CHECKPOINTS)
    }
    for place, conversation in world.truth.conversations.items():
        if place[0] not in device.accounts or not conversation.messages:
            continue
        checkpoint = checkpoints.get(place)
        if checkpoint is None or checkpoint["phase"] != "completed":
            phase = checkpoint and (checkpoint["phase"], checkpoint["result"])
            yield "completed", f"{place} is {phase} on device {device.number}"
        for message in conversation.messages:
            if message.scope not in facts:
                yield "no_loss", f"device {device.number} never met {message.scope}"
    if not world.has_clock_jumped:
        yield from _profile_faults(world, device)
        yield from _facts_faults(world, device)
    yield from _card_faults(world, device)


def _profile_faults(world: World, device: Device) -> Iterator[Fault]:
    """With clocks that are right, each contact's newest card arrives (OT-81)."""
    for record in world.witness.of(device).records(PROFILES):
        place = (record["channelAccountId"], record["conversationId"])
        if record.get("pending"):
            yield "no_loss", f"a profile of {place} is still pending"
        elif place not in world.witness.bright.profiles:
            yield "no_loss", f"Bright has no profile of {place}"


def _card_faults(world: World, device: Device) -> Iterator[Fault]:
    for record in world.witness.of(device).records(CARDS):
        scope = (
            record["channelAccountId"],
            record["conversationId"],
            record["messageId"],
        )
        if record["status"] != "confirmed":
            yield "no_loss", f"a card of {scope} stays {record['status']}"
        elif scope not in world.witness.bright.ledgers.cards:
            yield "no_loss", f"Bright does not have a card of {scope}"


def _facts_faults(world: World, device: Device) -> Iterator[Fault]:
    for record in world.witness.of(device).records(BUYER_FACTS):
        where = (record["channelAccountId"], record["conversationId"])
        if record["uploadedFingerprint"] != record["fingerprint"]:
            yield "no_loss", f"facts of {where} are still pending"
        elif where not in world.witness.bright.ledgers.facts:
            yield "no_loss", f"Bright has no facts of {where}"
