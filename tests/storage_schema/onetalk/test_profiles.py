"""Contact profiles: pending, marks, and ACKs that match exactly (OT-80 to OT-84)."""

from __future__ import annotations

import pytest

from storage_schema import Connection, Read
from storage_schema.onetalk import (
    ScopeMissingError,
    confirm_profile,
    drop_profile,
    list_pending_profiles,
    observe_profiles,
    settle_profiles,
)
from storage_schema.onetalk.arguments import ObservedProfile
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import BY_ACCOUNT_PENDING_OBSERVED_AT, PROFILES
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    mark,
    profile,
)
from tests.storage_schema.onetalk.stored import only, put, records


def observe(connection: Connection, *observed: ObservedProfile) -> tuple[int, int, int]:
    counts = observe_profiles(connection, ACCOUNT, observed, NOW)
    return counts["pending"], counts["moved"], counts["skipped"]


def test_a_first_observation_is_pending(connection: Connection) -> None:
    """OT-80, OT-81: the record is exactly these fields."""
    assert observe(connection, profile("f1", 10)) == (1, 0, 0)
    assert only(connection, PROFILES) == {
        "key": conversation_key(ACCOUNT, CONVERSATION),
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "aliId": None,
        "profile": None,
        "lastUploadedFingerprint": None,
        "uploadedObservedAtMs": 0,
        "rejectedObservedAtMs": 0,
        "updatedAtMs": NOW,
        "lastUploadedAtMs": None,
        "pending": {
            "aliId": f"ali of {CONVERSATION}",
            "profile": {"name": "f1"},
            "fingerprint": "f1",
            "observedAtMs": 10,
        },
    }


def test_latest_wins_strictly(connection: Connection) -> None:
    """OT-81: in order, also inside one call; equal time is not newer."""
    counts = observe(
        connection, profile("f1", 10), profile("f2", 10), profile("f3", 11)
    )

    assert counts == (2, 0, 1)
    assert only(connection, PROFILES)["pending"]["fingerprint"] == "f3"


def test_what_is_not_above_the_marks_leaves_no_record(connection: Connection) -> None:
    """OT-81: a new contact's marks are 0."""
    assert observe(connection, profile("f1", 0)) == (0, 0, 1)
    assert records(connection, PROFILES) == []


def test_a_confirmation_takes_the_pending_one_over(connection: Connection) -> None:
    """OT-83: and leaves no pending one."""
    observe(connection, profile("f1", 10))

    assert confirm_profile(connection, ACCOUNT, mark("f1", 10), NOW + 5)
    assert only(connection, PROFILES) == {
        "key": conversation_key(ACCOUNT, CONVERSATION),
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "aliId": f"ali of {CONVERSATION}",
        "profile": {"name": "f1"},
        "lastUploadedFingerprint": "f1",
        "uploadedObservedAtMs": 10,
        "rejectedObservedAtMs": 0,
        "updatedAtMs": NOW + 5,
        "lastUploadedAtMs": NOW + 5,
    }


def test_an_answer_of_many_is_each_of_them_alone(connection: Connection) -> None:
    """OT-83, OT-84: one transaction, and what does not match costs no other."""
    observe(connection, *(profile("f", 10, each) for each in ("c1", "c2", "c3")))

    settled = settle_profiles(
        connection,
        ACCOUNT,
        {
            "confirmed": [mark("f", 10, "c1"), mark("f", 9, "c2")],
            "refused": [mark("f", 10, "c3"), mark("f", 10, "c9")],
        },
        NOW + 1,
    )

    assert settled == 2
    by_chat = {each["conversationId"]: each for each in records(connection, PROFILES)}
    assert by_chat["c1"]["lastUploadedFingerprint"] == "f"
    assert by_chat["c2"]["pending"]["fingerprint"] == "f"
    assert by_chat["c3"]["rejectedObservedAtMs"] == 10
    assert [each for each, row in by_chat.items() if "pending" in row] == ["c2"]


@pytest.mark.parametrize("settle", [confirm_profile, drop_profile])
def test_a_late_answer_never_removes_a_newer_one(
    connection: Connection, settle: object
) -> None:
    """OT-83, OT-84: fingerprint and time both have to match one that is pending."""
    assert callable(settle)
    nobody = settle(connection, ACCOUNT, mark("f1", 10), NOW)
    observe(connection, profile("f2", 20))
    before = only(connection, PROFILES)

    late = [
        settle(connection, ACCOUNT, each, NOW + 1)
        for each in (mark("f1", 10), mark("f2", 10), mark("f1", 20))
    ]

    assert (nobody, late) == (False, [False] * 3)
    assert only(connection, PROFILES) == before
    assert settle(connection, ACCOUNT, mark("f2", 20), NOW + 1)
    assert not settle(connection, ACCOUNT, mark("f2", 20), NOW + 2)


def test_the_uploaded_one_again_only_moves_the_mark(connection: Connection) -> None:
    """OT-81: up, never down."""
    observe(connection, profile("f1", 10))
    confirm_profile(connection, ACCOUNT, mark("f1", 10), NOW)
    before = only(connection, PROFILES)

    counts = observe(connection, profile("f1", 30), profile("f1", 20))

    assert counts == (0, 1, 1)
    assert only(connection, PROFILES) == {**before, "uploadedObservedAtMs": 30}


def test_another_one_has_to_be_above_both_marks(connection: Connection) -> None:
    """OT-81, OT-84: what was uploaded or dropped is not overtaken from behind."""
    observe(connection, profile("f1", 10))
    confirm_profile(connection, ACCOUNT, mark("f1", 10), NOW)
    observe(connection, profile("f2", 20))
    dropped = drop_profile(connection, ACCOUNT, mark("f2", 20), NOW + 7)
    after_drop = only(connection, PROFILES)

    at_marks = observe(connection, profile("f3", 10), profile("f3", 20))
    above = observe(connection, profile("f3", 21))

    assert dropped
    assert "pending" not in after_drop
    assert (after_drop["uploadedObservedAtMs"], after_drop["rejectedObservedAtMs"]) == (
        10,
        20,
    )
    assert (after_drop["profile"], after_drop["updatedAtMs"]) == (
        {"name": "f1"},
        NOW + 7,
    )
    assert (at_marks, above) == ((0, 0, 2), (1, 0, 0))


def test_a_confirmation_never_lowers_the_uploaded_mark(connection: Connection) -> None:
    """Only a record of another version can hold a pending one below its own mark."""
    observe(connection, profile("f1", 10))
    record = only(connection, PROFILES)
    put(connection, PROFILES, {**record, "uploadedObservedAtMs": 99})

    confirm_profile(connection, ACCOUNT, mark("f1", 10), NOW)

    assert only(connection, PROFILES)["uploadedObservedAtMs"] == 99


def test_pending_ones_are_read_under_the_accounts_prefix_oldest_first(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-19: what has no pending one, and what others have, is never read."""
    for account in (ACCOUNT, OTHER_ACCOUNT, f"{ACCOUNT}!"):
        observed = [profile("f", 30 - each, f"c{each}") for each in range(6)]
        observe_profiles(connection, account, observed, NOW)
    confirm_profile(connection, ACCOUNT, mark("f", 25, "c5"), NOW)
    drop_profile(connection, ACCOUNT, mark("f", 26, "c4"), NOW)
    reads.clear()

    everything = list_pending_profiles(connection, ACCOUNT, {"limit": 99})
    first = list_pending_profiles(connection, ACCOUNT, {"limit": 3})

    assert [each["conversationId"] for each in everything] == ["c3", "c2", "c1", "c0"]
    assert {each["channelAccountId"] for each in everything} == {ACCOUNT}
    assert first == everything[:3]
    assert {read.index for read in reads} == {BY_ACCOUNT_PENDING_OBSERVED_AT}
    assert [(read.bounded, read.limit, read.records) for read in reads] == [
        (True, 99, 4),
        (True, 3, 3),
    ]


@pytest.mark.parametrize("account", ["", None, 5])
def test_pending_ones_without_an_account_fail(
    connection: Connection, account: object
) -> None:
    """OT-17, OT-19."""
    with pytest.raises(ScopeMissingError):
        list_pending_profiles(connection, account, {"limit": 3})  # type: ignore[arg-type]
