"""Batches: facts, candidates, anomalies and the position that they stand for."""

from __future__ import annotations

import pytest

from storage_schema import Connection, Factory, QuotaExceededError
from storage_schema.onetalk import (
    StoreFullError,
    newest_confirmed_at_ms,
    next_pending,
    read_checkpoint,
    record_anomaly,
    record_batch,
    still_pending,
    update_checkpoint,
)
from storage_schema.onetalk.arguments import PagePosition, PreparedBatch
from storage_schema.onetalk.checkpoints import new_checkpoint
from storage_schema.onetalk.keys import candidate_key, message_key
from storage_schema.onetalk.names import (
    ALL_STORES,
    ANOMALIES,
    CANDIDATES,
    CHECKPOINTS,
    MESSAGES,
)
from storage_schema.onetalk.observations import RELEASE_STEP
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    anomaly,
    batch,
    content,
    fact,
)
from tests.storage_schema.onetalk.stored import only, put, records

END: PagePosition = {"askedWith": 5, "nextTimeStamp": None, "historyComplete": True}
MIDDLE: PagePosition = {"askedWith": 5, "nextTimeStamp": 4, "historyComplete": False}


def test_a_batch_leaves_its_fact_candidate_and_checkpoint(
    connection: Connection,
) -> None:
    """OT-04, OT-05: the records are exactly these fields."""
    recorded = record_batch(connection, batch(fact("m1", 1_000)))

    assert only(connection, MESSAGES) == {
        **content("m1", 1_000),
        "key": message_key(ACCOUNT, CONVERSATION, "m1"),
        "channelAccountId": ACCOUNT,
        "contentDigest": "digest of m1",
        "observedAtMs": NOW,
    }
    assert only(connection, CANDIDATES) == {
        "candidateKey": candidate_key(ACCOUNT, CONVERSATION, 1_000, "m1"),
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "messageId": "m1",
        "sentAtMs": 1_000,
        "status": "pending_ack",
        "observedAtMs": NOW,
    }
    checkpoint = new_checkpoint(ACCOUNT, CONVERSATION)
    checkpoint["lastObservedAtMs"] = NOW
    assert only(connection, CHECKPOINTS) == checkpoint
    assert recorded == {
        "added": 1,
        "known": 0,
        "conflicts": 0,
        "anomalies": 0,
        "isFirst": True,
        "checkpoint": checkpoint,
    }
    again = record_batch(connection, batch(fact("m1", 1_000)))
    assert (again["known"], again["isFirst"]) == (1, False)


def test_what_comes_without_a_scan_is_of_a_full_sync(connection: Connection) -> None:
    """OT-40: a conversation just met, its history not asked for."""
    checkpoint = record_batch(connection, batch(fact("m1")))["checkpoint"]

    assert (checkpoint["syncMode"], checkpoint["anchorState"]) == ("full", "none")
    assert only(connection, CANDIDATES)["status"] == "pending_ack"


def test_raw_is_kept_where_there_is_one(connection: Connection) -> None:
    record_batch(connection, batch({**fact("m1"), "raw": {}}))

    assert only(connection, MESSAGES)["raw"] == {}


def test_the_same_again_adds_nothing(connection: Connection) -> None:
    """OT-01: one scope, one message fact."""
    record_batch(connection, batch(fact("m1"), fact("m1")))
    before = records(connection, MESSAGES)

    recorded = record_batch(connection, batch(fact("m1"), at=NOW + 1))

    assert (recorded["added"], recorded["known"]) == (0, 1)
    assert records(connection, MESSAGES) == before


def test_the_first_content_stays_and_the_other_is_an_anomaly(
    connection: Connection,
) -> None:
    """OT-01: in one batch as over two."""
    other, third = fact("m1", digest="other"), fact("m1", digest="third")

    first = record_batch(connection, batch(fact("m1"), other))
    second = record_batch(connection, batch(third))

    assert (first["added"], first["conflicts"], second["conflicts"]) == (1, 1, 1)
    assert only(connection, MESSAGES)["contentDigest"] == "digest of m1"
    kept = [each["key"] for each in records(connection, ANOMALIES)]
    assert kept == sorted([other["ifConflict"]["key"], third["ifConflict"]["key"]])


def test_a_message_whose_digest_was_never_noted_stays_as_it_is(
    connection: Connection,
) -> None:
    """OT-01: a record of another version; its content came first and is known."""
    key = message_key(ACCOUNT, CONVERSATION, "m1")
    put(connection, MESSAGES, {"key": key, "channelAccountId": ACCOUNT})

    told = record_batch(connection, batch(fact("m1")))

    assert (told["added"], told["known"], told["conflicts"]) == (0, 1, 0)
    assert only(connection, MESSAGES) == {"key": key, "channelAccountId": ACCOUNT}


def test_an_anomaly_seen_again_stays_as_first_seen(connection: Connection) -> None:
    """OT-32: its key is a digest of what was seen."""
    record_anomaly(connection, anomaly("x", surface="first"))
    record_anomaly(connection, anomaly("x", surface="second"))

    assert only(connection, ANOMALIES)["surface"] == "first"


def test_of_two_anomalies_with_one_key_in_one_batch_the_first_stays(
    connection: Connection,
) -> None:
    """OT-32: the first observation of an anomaly is the one that is kept."""
    two = (anomaly("x", surface="first"), anomaly("x", surface="second"))

    record_batch(connection, batch(anomalies=two))

    assert only(connection, ANOMALIES)["surface"] == "first"


def test_a_page_moves_the_position(connection: Connection) -> None:
    """OT-44: saved with the rows that it stands for."""
    middle = record_batch(connection, batch(fact("m2"), page=MIDDLE))["checkpoint"]
    end = record_batch(connection, batch(page=END))["checkpoint"]

    assert (middle["phase"], middle["pages"]) == ("paging", 1)
    assert (middle["pageTimeStamp"], middle["nextTimeStamp"]) == (5, 4)
    assert (end["phase"], end["pages"], end["historyComplete"]) == (
        "uploading",
        2,
        True,
    )
    assert (end["pageTimeStamp"], end["nextTimeStamp"]) == (5, None)


def test_a_new_fact_reopens_a_completed_conversation(connection: Connection) -> None:
    """OT-43, OT-46: no claim covers what came after it; a known fact is no news."""
    record_batch(connection, batch(fact("m1"), page=END))
    update_checkpoint(
        connection,
        ACCOUNT,
        CONVERSATION,
        lambda seen: {**seen, "phase": "completed", "completionSent": True},
    )

    known = record_batch(connection, batch(fact("m1")))["checkpoint"]
    new = record_batch(connection, batch(fact("m2")))["checkpoint"]

    assert (known["phase"], known["completionSent"]) == ("completed", True)
    assert (new["phase"], new["completionSent"]) == ("uploading", False)


def incremental(connection: Connection, anchor: str) -> None:
    put(
        connection,
        CHECKPOINTS,
        {
            **new_checkpoint(ACCOUNT, CONVERSATION),
            "syncMode": "incremental",
            "anchorState": "awaiting",
            "anchorMessageId": anchor,
        },
    )


def change_checkpoint_to(connection: Connection, **changes: object) -> None:
    put(connection, CHECKPOINTS, {**only(connection, CHECKPOINTS), **changes})


def statuses(connection: Connection) -> list[str]:
    return [each["status"] for each in records(connection, CANDIDATES)]


def test_a_page_that_ends_in_the_anchors_millisecond_does_not_meet_it(
    connection: Connection,
) -> None:
    """OT-41, OT-43: others of that millisecond may be on the next page."""
    incremental(connection, "anchor")
    at_edge: PagePosition = {**MIDDLE, "nextTimeStamp": 5}
    first = batch(fact("m9", 9), fact("anchor", 5), page=at_edge)
    before = record_batch(connection, first)["checkpoint"]
    beyond: PagePosition = {**MIDDLE, "nextTimeStamp": 4}
    rest = batch(fact("anchor", 5), fact("twin", 5), fact("m4", 4), page=beyond)
    after = record_batch(connection, rest)["checkpoint"]

    assert (before["anchorState"], before["nextTimeStamp"]) == ("awaiting", 5)
    assert (after["anchorState"], after["historyComplete"]) == ("met", True)
    assert statuses(connection) == ["pending_ack"] * 4


def test_an_anchor_is_met_by_a_later_page_or_part_that_does_not_repeat_it(
    connection: Connection,
) -> None:
    """OT-41, OT-43: shown once in this scan is shown."""
    incremental(connection, "anchor")
    first: PreparedBatch = {**batch(fact("anchor", 5)), "isPartOfPage": True}
    before = record_batch(connection, first)["checkpoint"]
    beyond: PagePosition = {**MIDDLE, "nextTimeStamp": 4}
    after = record_batch(connection, batch(fact("m4", 4), page=beyond))["checkpoint"]

    assert (before["anchorState"], before["anchorSeenAtMs"]) == ("awaiting", 5)
    assert (after["anchorState"], after["historyComplete"]) == ("met", True)


def test_an_anchor_that_was_recalled_is_met_by_its_recall(
    connection: Connection,
) -> None:
    """OT-41, OT-42: it stands where the anchor stood, whatever time it says."""
    incremental(connection, "anchor")
    change_checkpoint_to(
        connection, latestCandidateKey=candidate_key(ACCOUNT, CONVERSATION, 5, "anchor")
    )
    recall = fact("anchor:recall", 7)
    recall["content"]["recall"] = {"messageId": "anchor"}
    early: PagePosition = {**MIDDLE, "nextTimeStamp": 6}
    before = record_batch(connection, batch(recall, fact("m6", 6), page=early))
    beyond: PagePosition = {**MIDDLE, "nextTimeStamp": 4}
    after = record_batch(connection, batch(fact("m5", 5), fact("m4", 4), page=beyond))

    assert before["checkpoint"]["anchorState"] == "awaiting"
    assert after["checkpoint"]["anchorState"] == "met"
    assert statuses(connection) == ["pending_ack"] * 4


def test_candidates_wait_until_the_anchor_is_met(connection: Connection) -> None:
    """OT-41, OT-42, OT-45: history and live ones are released together."""
    incremental(connection, "anchor")
    record_batch(connection, batch(fact("m3", 3), page=MIDDLE))
    record_batch(connection, batch(fact("live", 4)))
    waiting = statuses(connection), still_pending(connection, ACCOUNT, CONVERSATION)

    beyond: PagePosition = {**MIDDLE, "nextTimeStamp": 0}
    met = record_batch(connection, batch(fact("anchor", 1), page=beyond))["checkpoint"]

    assert waiting == (["awaiting_anchor"] * 2, 2)
    assert statuses(connection) == ["pending_ack"] * 3
    assert (met["anchorState"], met["nextTimeStamp"]) == ("met", None)
    assert (met["historyComplete"], met["phase"]) == (True, "uploading")
    pairs = next_pending(connection, ACCOUNT, CONVERSATION, 10)
    sent = [pair["candidate"]["messageId"] for pair in pairs]
    assert sent == ["anchor", "m3", "live"]


def test_a_release_goes_on_beyond_one_step(connection: Connection) -> None:
    """OT-45: however many wait, none is left behind."""
    incremental(connection, "anchor")
    many = [fact(f"m{each}", each) for each in range(1, RELEASE_STEP + 2)]
    record_batch(connection, batch(*many))

    record_batch(connection, batch(fact("anchor", 1_000), page=MIDDLE))

    assert set(statuses(connection)) == {"pending_ack"}


def test_a_history_that_ends_without_its_anchor_says_so(
    connection: Connection,
) -> None:
    """OT-41: the candidates go on waiting, and the anomaly is recorded."""
    incremental(connection, "never seen")

    recorded = record_batch(connection, batch(fact("m1"), page=END))

    assert recorded["checkpoint"]["anchorState"] == "not_found"
    assert recorded["checkpoint"]["result"] == "incremental_anchor_not_found"
    assert statuses(connection) == ["awaiting_anchor"]
    assert only(connection, ANOMALIES)["code"] == "incremental_anchor_not_found"
    assert recorded["anomalies"] == 0


def test_accounts_with_a_conversation_of_one_name_share_nothing(
    connection: Connection,
) -> None:
    """OT-01, OT-02."""
    record_batch(connection, batch(fact("m1")))
    record_batch(connection, batch(fact("m1"), account=OTHER_ACCOUNT))

    for store in (MESSAGES, CHECKPOINTS):
        owners = {each["channelAccountId"] for each in records(connection, store)}
        assert owners == {ACCOUNT, OTHER_ACCOUNT}
    theirs = next_pending(connection, OTHER_ACCOUNT, CONVERSATION, 10)
    assert [pair["candidate"]["channelAccountId"] for pair in theirs] == [OTHER_ACCOUNT]


def test_a_batch_that_the_disk_has_no_room_for_leaves_nothing(
    factory: Factory, connection: Connection
) -> None:
    """OT-31: the commit fails, not a request, and nothing of the batch is there."""
    factory.fail_next_commit(QuotaExceededError("full"))

    with pytest.raises(StoreFullError) as caught:
        record_batch(connection, batch(fact("m1")))

    assert caught.value.code == "store_full"
    assert [records(connection, name) for name in ALL_STORES] == [[]] * len(ALL_STORES)
    assert record_batch(connection, batch(fact("m1")))["added"] == 1


def test_the_newest_confirmed_time_is_in_the_checkpoints_candidate_key() -> None:
    checkpoint = new_checkpoint(ACCOUNT, CONVERSATION)
    without = newest_confirmed_at_ms(checkpoint)
    checkpoint["latestCandidateKey"] = candidate_key(ACCOUNT, CONVERSATION, 77, "m")

    assert (without, newest_confirmed_at_ms(checkpoint)) == (0, 77)


def test_reading_a_checkpoint_that_is_not_there_gives_none(
    connection: Connection,
) -> None:
    assert read_checkpoint(connection, ACCOUNT, "nobody") is None
