"""What every back end makes of observed groups: messages and their identity."""

from __future__ import annotations

from typing import Any

from bright_server.authorization.contract import Standing
from bright_server.commit.backend import Backend
from bright_server.commit.groups import (
    BatchCommitted,
    Denied,
    NotStored,
)
from bright_server.messages import (
    BindingId,
    ConversationKey,
    Grant,
)
from tests.bright_server.frames import CONVERSATION, FIRST_ID
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import (
    KEY,
    OTHER,
    Records,
    batch,
    claim,
    observed,
    sequences,
    told,
)


class MessageGroupSuite:
    """Needs the fixtures `stores`, `backend`, `records`, `grant` and `clock`."""

    async def test_a_new_message_has_its_row_its_sequence_and_its_outbox_row(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        (outcome,) = await backend.observations.commit_group(
            [batch(grant, observed(1), observed(2))]
        )

        assert sequences(outcome) == [(1, False), (2, False)]
        assert [
            (each["messageId"], each["sequence"], each["position"], each["text"])
            for each in await records("message")
        ] == [
            (str(FIRST_ID + 1), 1, 1, "text 1"),
            (str(FIRST_ID + 2), 2, 2, "text 2"),
        ]
        assert [
            (each["position"], each["messageId"]) for each in await records("outbox")
        ] == [(1, str(FIRST_ID + 1)), (2, str(FIRST_ID + 2))]

    async def test_ot_01_one_scope_is_one_row_in_a_batch_a_group_and_ever_after(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        group = [
            batch(grant, observed(1), observed(1), observed(2)),
            batch(grant, observed(2), observed(3)),
        ]

        first = await backend.observations.commit_group(group)
        second = await backend.observations.commit_group(group)

        assert [sequences(each) for each in first] == [
            [(1, False), (1, True), (2, False)],
            [(2, True), (3, False)],
        ]
        assert [sequences(each) for each in second] == [
            [(1, True), (1, True), (2, True)],
            [(2, True), (3, True)],
        ]
        assert [each["sequence"] for each in await records("message")] == [1, 2, 3]

    async def test_ms_20_repeats_leave_no_gap_in_sequences_and_positions(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        for start in range(0, 50, 5):
            numbers = range(start, start + 10)  # half of them were there before
            await backend.observations.commit_group(
                [
                    batch(grant, *map(observed, numbers)),
                    batch(grant, *map(observed, numbers), key=OTHER),
                ]
            )

        found = await records("message")
        assert [each["position"] for each in found] == list(range(1, 111))
        for key in (KEY, OTHER):
            mine = [e for e in found if e["conversationId"] == key.conversation_id]
            assert [each["sequence"] for each in mine] == list(range(1, 56))
        assert [e["lastSequence"] for e in await records("conversation")] == [55, 55]

    async def test_ids_are_known_again_in_any_order_of_arrival(
        self, backend: Backend, grant: Grant
    ) -> None:
        """Histories are paged backwards; ids below, between, above are told apart."""
        for number in (50, 10, 30, 90):
            await backend.observations.commit_group([batch(grant, observed(number))])

        (outcome,) = await backend.observations.commit_group(
            [batch(grant, *map(observed, (90, 20, 10, 99, 50, 5, 30)))]
        )

        duplicates = [kind == "repeat" for kind, _ in told(outcome)]
        assert duplicates == [True, False, True, False, True, False, True]

    async def test_ids_are_compared_as_strings(
        self, backend: Backend, grant: Grant
    ) -> None:
        ids = [
            "7",
            "07",
            "7 ",
            "\u0667",
            "a",
            "A",
            "é",
            "e\u0301",
            "\U0001f600",
            "\uffff",
        ]
        messages = [observed(n, message_id=each) for n, each in enumerate(ids)]

        (first,) = await backend.observations.commit_group([batch(grant, *messages)])
        (second,) = await backend.observations.commit_group(
            [batch(grant, *reversed(messages))]
        )

        assert sequences(first) == [(n, False) for n in range(1, 11)]
        assert sequences(second) == [(n, True) for n in range(10, 0, -1)]

    async def test_the_same_scope_with_other_content_is_a_conflict_and_the_first_stays(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        changes: list[dict[str, Any]] = [
            {"text": "other"},
            {"sender_id": "9"},
            {"direction": "outbound"},
            {"sent_at_ms": 5},
            {"kind": "system"},
            {"content": '{"a":1}'},
            {"quote": '{"messageId":"1"}'},
            {"recall": '{"messageId":"1"}'},
        ]
        others = [observed(1)._replace(**change) for change in changes]

        (inside,) = await backend.observations.commit_group(
            [batch(grant, observed(1), others[0])]
        )
        (after,) = await backend.observations.commit_group([batch(grant, *others)])
        await backend.observations.commit_group([batch(grant, *others)])

        assert told(inside)[1] == ("conflict", 1)
        assert told(after) == [("conflict", 1)] * len(others)
        assert [each["text"] for each in await records("message")] == ["text 1"]
        kept = await records("conflict")
        assert len(kept) == len(changes), "each difference is kept once"
        assert kept[0]["text"] == "other"
        assert kept[5]["content"] == {"a": 1}

    async def test_ot_03_raw_and_the_candidates_key_are_no_part_of_the_identity(
        self, backend: Backend, grant: Grant
    ) -> None:
        again = observed(1, raw='{"seen":"elsewhere"}')

        await backend.observations.commit_group([batch(grant, observed(1))])
        (outcome,) = await backend.observations.commit_group([batch(grant, again)])

        assert sequences(outcome) == [(1, True)]

    async def test_equal_ids_of_other_conversations_and_accounts_are_other_messages(
        self, backend: Backend, grant: Grant
    ) -> None:
        keys = [KEY, OTHER, ConversationKey("another", CONVERSATION)]

        group = await backend.observations.commit_group(
            [batch(grant, observed(1), key=key) for key in keys]
        )

        assert [sequences(each) for each in group] == [[(1, False)]] * 3

    async def test_ot_60_work_of_a_lost_binding_is_denied_and_the_others_are_done(
        self, backend: Backend, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        changed = Grant(grant.binding_id, 7, grant.accounts)
        unknown = Grant(BindingId("bnd_nobody"), 1, grant.accounts)

        group = await backend.observations.commit_group(
            [
                batch(changed, observed(1)),
                batch(grant, observed(2)),
                batch(unknown, observed(3)),
                claim(unknown, 2),
            ]
        )
        await backend.bindings.revoke(grant.binding_id, clock.now_ms())
        (revoked,) = await backend.observations.commit_group(
            [batch(grant, observed(4))]
        )

        assert group[0] == Denied(Standing.VERSION_CHANGED)
        assert sequences(group[1]) == [(1, False)]
        assert group[2:] == [Denied(Standing.REVOKED)] * 2
        assert revoked == Denied(Standing.REVOKED)
        assert len(await records("message")) == 1

    async def test_work_that_cannot_be_stored_does_not_spoil_the_rest(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """Such work is refused long before; if it came, it stands alone."""
        group = await backend.observations.commit_group(
            [
                batch(grant, observed(1)),
                batch(grant, observed(2, sent_at_ms=2**70), key=OTHER),
                batch(grant, observed(3, text="\ud800"), key=OTHER),
                batch(grant, observed(4)),
            ]
        )

        assert [type(each) for each in group] == [
            BatchCommitted,
            NotStored,
            NotStored,
            BatchCommitted,
        ]
        assert [each["position"] for each in await records("message")] == [1, 2]
