"""A store with something of every kind in it, and what there is to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bright_server import backends
from bright_server.authorization.embedded import issue_binding
from bright_server.commit.backend import Backend
from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import (
    BuyerFacts,
    Claim,
    Discovery,
    ObservedProfiles,
    Progress,
    RenderedCards,
)
from bright_server.commit.records import CommitIntent, CommitState
from bright_server.commit.transfer import COPIED_KINDS, CopiedRecord
from bright_server.messages import (
    DiscoveredConversation,
    ObservedFacts,
    ObservedProfile,
    RenderedCard,
)
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.testing.sends import (
    ACCOUNT,
    CONVERSATION,
    NOW_MS,
    OTHER_CONVERSATION,
    batch_of,
    brought_to,
    committed,
    granted,
    reserved,
    sending,
    showing,
)
from tests.bright_server.manual_clock import ManualClock

OPEN = {
    "reserved": CommitState.RESERVED,
    "recorded": CommitState.RECORDED,
    "outboxed": CommitState.OUTBOXED,
}
"""Names of the messages that are sent and not committed, each in its state."""
PUBLISHED = "published"
"""One that the log has, and whose commit does not know so."""


async def fill(settings: Settings, clock: ManualClock) -> None:
    async with backends.opened(settings, clock) as backend:
        grant = await granted(backend)
        other = await issue_binding(backend.bindings, ["9"], "gone", NOW_MS)
        await backend.bindings.revoke(other.binding.binding_id, NOW_MS + 1)
        await backend.observations.commit_group(
            [
                batch_of(grant, *(showing(f"{n:04}") for n in range(7))),
                batch_of(
                    grant,
                    showing("0003", "otherwise"),
                    showing("0007", content='{"a":1}', raw='{"r":"ü"}'),
                ),
                Discovery(
                    grant,
                    ACCOUNT,
                    [DiscoveredConversation("conversation-3", NOW_MS, "Title")],
                ),
                Progress(grant, OTHER_CONVERSATION, '"x"', True, NOW_MS, 3),
                Claim(grant, CONVERSATION, "0006", NOW_MS),
                ObservedProfiles(
                    grant,
                    ACCOUNT,
                    [ObservedProfile(CONVERSATION.conversation_id, "7", 5, "f", "{}")],
                ),
                RenderedCards(
                    grant, CONVERSATION, [RenderedCard("0001", "order", '{"n":1}')]
                ),
                RenderedCards(
                    grant, CONVERSATION, [RenderedCard("0001", "order", '{"n":2}')]
                ),
                BuyerFacts(grant, CONVERSATION, ObservedFacts(6, "g", '{"b":true}')),
            ]
        )
        await _send(backend)
        await backend.observations.commit_group(
            [batch_of(grant, *(showing(f"{n:04}") for n in range(10, 14)))]
        )


async def _send(backend: Backend) -> None:
    for name in ("first", "second"):
        await committed(backend, sending(name, mentions=("a", "b"), reply_to="0001"))
    await committed(
        backend, request_of(OTHER_CONVERSATION, showing("1000", "observed alone"))
    )
    for name, state in OPEN.items():
        await brought_to(state, backend, sending(name))
    intent = await reserved(backend, sending(PUBLISHED))
    assert isinstance(intent, CommitIntent)
    await backend.commits.put_record(intent)
    await backend.publisher.publish(
        envelope_of(replace(intent, state=CommitState.RECORDED))
    )


async def records_of(
    settings: Settings, clock: ManualClock, page_size: int = 3
) -> dict[str, Sequence[CopiedRecord]]:
    found: dict[str, Sequence[CopiedRecord]] = {}
    async with backends.exporting(settings, clock) as export:
        for kind in COPIED_KINDS:
            records: list[CopiedRecord] = []
            cursor: str | None = None
            while True:
                page = await export.page(kind, cursor, page_size)
                records += page.records
                cursor = page.cursor
                if cursor is None:
                    break
            found[kind] = records
    return found
