"""What every back end makes of observed groups: conversations, claims, readiness."""

from __future__ import annotations

from bright_server.commit.backend import Backend
from bright_server.commit.contract import NOBODY
from bright_server.commit.groups import (
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    Probe,
    ProbeStored,
    Progress,
    ProgressStored,
)
from bright_server.messages import (
    DiscoveredConversation,
    Grant,
)
from bright_server.testing.under_test import StoreUnderTest
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import (
    KEY,
    Records,
    batch,
    claim,
    observed,
    sequences,
)


class ConversationSuite:
    """Needs the fixtures `stores`, `backend`, `records`, `grant` and `clock`."""

    async def test_ot_50_a_claim_is_proven_by_the_claimed_message_alone(
        self, backend: Backend, grant: Grant, clock: ManualClock
    ) -> None:
        group = await backend.observations.commit_group(
            [claim(grant, 2), claim(grant, 9), batch(grant, observed(1), observed(2))]
        )

        assert isinstance(group[0], ClaimProven), (
            "batches of a group count before claims"
        )
        assert group[0].moved
        assert group[0].anchor.latest_message_id == str(FIRST_ID + 2)
        assert group[0].anchor.anchored_at_ms == clock.now_ms()
        assert group[1] == ClaimUnproven()

    async def test_ot_50_an_anchor_moves_forward_only(
        self, backend: Backend, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        twin = observed(5, message_id="zz")  # the same time, a later id
        await backend.observations.commit_group(
            [batch(grant, observed(1), observed(5), twin), claim(grant, 5)]
        )
        clock.advance(10)

        older, same = await backend.observations.commit_group(
            [claim(grant, 1), claim(grant, 5)]
        )
        (later,) = await backend.observations.commit_group(
            [Claim(grant, KEY, "zz", FIRST_ID)]
        )

        for outcome in (older, same):
            assert isinstance(outcome, ClaimProven)
            assert not outcome.moved
            assert outcome.anchor.latest_message_id == str(FIRST_ID + 5)
        assert isinstance(later, ClaimProven)
        assert later.moved
        (anchor,) = await records("anchor")
        assert anchor["latestMessageId"] == "zz"
        assert anchor["anchoredAtMs"] == clock.now_ms()

    async def test_ot_05_a_proven_claim_tells_when_the_conversation_was_active(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """OT-05: forward only, and nothing of what is not proven."""
        await backend.observations.commit_group(
            [batch(grant, observed(1), observed(2))]
        )
        last = str(FIRST_ID + 2)
        for message_id, told, active in (
            ("unknown", FIRST_ID + 9, None),
            (last, FIRST_ID + 7, FIRST_ID + 7),
            (last, FIRST_ID + 3, FIRST_ID + 7),
        ):
            await backend.observations.commit_group(
                [Claim(grant, KEY, message_id, told)]
            )
            (kept,) = await records("conversation")
            assert kept.get("latestMessageAtMs") == active

    async def test_discovery_tells_anchors_in_order_and_moves_activity_forward_only(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        await backend.observations.commit_group(
            [batch(grant, observed(1)), claim(grant, 1)]
        )

        rows = [
            DiscoveredConversation("new", 5, "New"),
            DiscoveredConversation(CONVERSATION, 7, None),
            DiscoveredConversation("new", 3, None),
        ]
        (found,) = await backend.observations.commit_group(
            [Discovery(grant, ACCOUNT, rows)]
        )

        assert isinstance(found, DiscoveryStored)
        assert [each and each.latest_message_id for each in found.anchors] == [
            None,
            str(FIRST_ID + 1),
            None,
        ]
        new = (await records("conversation"))[1]
        assert (new["title"], new["latestMessageAtMs"]) == ("New", 5)

    async def test_ot_44_progress_keeps_the_pages_cursor_as_it_is(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        for cursor, complete in (("17", False), ('"abc"', False), ("null", True)):
            work = Progress(grant, KEY, cursor, complete, FIRST_ID, 3)
            assert await backend.observations.commit_group([work]) == [ProgressStored()]
            (kept,) = await records("conversation")
            assert kept["historyComplete"] is complete
            assert (
                kept["nextTimeStamp"]
                == {"17": 17, '"abc"': "abc", "null": None}[cursor]
            )
            assert kept["page"] == 3

    async def test_everything_is_there_after_reopening(
        self, stores: StoreUnderTest, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        async with stores.opened(clock, NOBODY) as backend:
            await backend.observations.commit_group(
                [batch(grant, observed(1)), claim(grant, 1)]
            )
            store_id = backend.observations.store_id

        async with stores.opened(clock, NOBODY) as backend:
            (outcome,) = await backend.observations.commit_group(
                [batch(grant, observed(1), observed(2))]
            )

        assert sequences(outcome) == [(1, True), (2, False)]
        assert backend.observations.store_id == store_id
        assert [each["position"] for each in await records("outbox")] == [1, 2]

    async def test_ms_15_a_probe_is_written_and_read(self, backend: Backend) -> None:
        for value in range(1, 30):
            outcome = await backend.observations.commit_group([Probe(value)])
            assert outcome == [ProbeStored()]
            assert await backend.observations.read_probe() == value
