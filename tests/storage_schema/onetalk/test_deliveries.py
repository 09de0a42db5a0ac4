"""Candidates on their way: what goes up next, what ACKs change, what goes again."""

from __future__ import annotations

import json

from storage_schema import Connection, Read
from storage_schema.onetalk import (
    apply_results,
    count_candidates,
    next_pending,
    oldest_pending_since,
    pending_conversations,
    read_checkpoint,
    record_batch,
    reoffer,
    still_pending,
)
from storage_schema.onetalk.arguments import DeliveryResult, Page
from storage_schema.onetalk.keys import candidate_key
from storage_schema.onetalk.names import (
    ANOMALIES,
    CANDIDATES,
    CHECKPOINTS,
    MESSAGES,
)
from storage_schema.onetalk.reoffers import REOFFER_STEP
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    anomaly,
    batch,
    fact,
    result,
)
from tests.storage_schema.onetalk.stored import only, put, records


def apply(connection: Connection, *results: DeliveryResult) -> int:
    return apply_results(connection, ACCOUNT, CONVERSATION, results, NOW + 9)["changed"]


def test_pending_candidates_come_oldest_first_with_their_messages(
    connection: Connection,
) -> None:
    """OT-42."""
    record_batch(connection, batch(fact("late", 30), fact("early", 5), fact("mid", 20)))

    pairs = next_pending(connection, ACCOUNT, CONVERSATION, 2)

    assert [pair["candidate"]["messageId"] for pair in pairs] == ["early", "mid"]
    assert [pair["message"] and pair["message"]["text"] for pair in pairs] == [
        "text of early",
        "text of mid",
    ]


def test_a_candidate_without_its_message_says_so(connection: Connection) -> None:
    record_batch(connection, batch(fact("m1")))
    with connection.transaction([MESSAGES], "readwrite") as transaction:
        transaction.object_store(MESSAGES).clear()

    (pair,) = next_pending(connection, ACCOUNT, CONVERSATION, 10)

    assert pair["message"] is None


def test_conversations_with_something_to_send_are_found_a_page_at_a_time(
    connection: Connection,
) -> None:
    """OT-17: one account's, whatever the others have."""
    names = ["a", "a,", 'a"', "b", "中"]
    for conversation in names:
        facts = fact("m1", 1), fact("m2", 2)
        record_batch(connection, batch(*facts, conversation=conversation))
    record_batch(connection, batch(fact("m"), account=OTHER_ACCOUNT))

    found: list[str] = []
    while True:
        after = found[-1] if found else None
        page = pending_conversations(connection, ACCOUNT, {"limit": 2, "after": after})
        found += page
        if len(page) < 2:
            break

    assert sorted(found) == sorted(names)
    assert len(found) == len(names)


def test_finding_a_conversation_takes_a_step_whatever_it_holds(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-17: the cursor jumps over a conversation's other candidates."""
    many = [fact(f"m{each}", each) for each in range(50)]
    record_batch(connection, batch(*many, conversation="full"))
    record_batch(connection, batch(fact("m"), conversation="small"))
    reads.clear()

    found = pending_conversations(connection, ACCOUNT, {"limit": 10, "after": None})

    assert found == ["full", "small"]
    assert sum(read.records for read in reads) <= 3


def test_what_is_no_candidate_key_is_passed_by(connection: Connection) -> None:
    """A record that another version wrote wedges nothing."""
    odd = {"channelAccountId": ACCOUNT, "status": "pending_ack"}
    put(connection, CANDIDATES, {"candidateKey": "[]", **odd})
    record_batch(connection, batch(fact("m1")))

    page = pending_conversations(connection, ACCOUNT, {"limit": 10, "after": None})

    assert page == [CONVERSATION]


def test_a_confirmation_is_kept_with_time_and_sequence(connection: Connection) -> None:
    """OT-42, OT-18."""
    record_batch(connection, batch(fact("m1"), fact("m2", 2_000)))
    confirmed: DeliveryResult = {**result("m1"), "sequence": 7}

    applied = apply_results(connection, ACCOUNT, CONVERSATION, [confirmed], NOW + 9)

    first, second = records(connection, CANDIDATES)
    assert (first["status"], first["confirmedAtMs"], first["sequence"]) == (
        "confirmed",
        NOW + 9,
        7,
    )
    assert second["status"] == "pending_ack"
    assert (applied["changed"], applied["pending"]) == (1, 1)
    assert applied["checkpoint"] == read_checkpoint(connection, ACCOUNT, CONVERSATION)
    assert only(connection, CHECKPOINTS)["latestMessageId"] == "m1"


def test_the_newest_confirmed_never_goes_back(connection: Connection) -> None:
    """OT-18: candidate order decides, not the order of ACKs."""
    record_batch(connection, batch(fact("old", 1), fact("new", 2)))

    apply(connection, result("new", 2))
    apply(connection, result("old", 1))

    checkpoint = only(connection, CHECKPOINTS)
    assert checkpoint["latestMessageId"] == "new"
    assert checkpoint["latestCandidateKey"] == candidate_key(
        ACCOUNT, CONVERSATION, 2, "new"
    )


def test_an_ack_counts_once_and_only_for_what_it_names(connection: Connection) -> None:
    """OT-18: unknown, doubled, late and misnamed results change nothing."""
    record_batch(connection, batch(fact("m1"), fact("m2")))
    record_batch(connection, batch(fact("m1"), account=OTHER_ACCOUNT))
    misnamed: DeliveryResult = {**result("m1"), "messageId": "m2"}
    record_batch(connection, batch(fact("m1"), conversation="c2"))
    theirs = result("m1", account=OTHER_ACCOUNT)
    elsewhere = result("m1", conversation="c2")
    strangers = (misnamed, theirs, elsewhere, result("m9"))

    counted = [
        apply(connection, each) for each in (*strangers, result("m1"), result("m1"))
    ]

    assert counted == [0, 0, 0, 0, 1, 0]


def test_an_ack_for_nothing_of_ours_makes_no_checkpoint(connection: Connection) -> None:
    applied = apply_results(connection, ACCOUNT, "nobody", [result("m1")], NOW)

    assert applied == {"changed": 0, "pending": 0, "checkpoint": None}
    assert records(connection, CHECKPOINTS) == []


def test_a_result_without_a_key_is_found_by_its_message(connection: Connection) -> None:
    """OT-18: only an ACK without a request key looks the message up."""
    record_batch(connection, batch(fact("m1", 1_234)))
    unnamed: DeliveryResult = {**result("m1"), "candidateKey": None}
    unknown: DeliveryResult = {**result("m9"), "candidateKey": None}

    assert (apply(connection, unknown), apply(connection, unnamed)) == (0, 1)


def test_an_ack_with_a_known_key_is_one_primary_key_read(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-18: of the candidate alone; the message is not looked at."""
    record_batch(connection, batch(fact("m1"), fact("m2"), fact("m3")))
    reads.clear()

    apply(connection, result("m2"))

    of_candidates = [each for each in reads if each.store == CANDIDATES]
    by_key = [each for each in of_candidates if each.index is None]
    assert [each.operation for each in by_key] == ["get"]
    assert {each.operation for each in of_candidates if each.index} == {"count"}
    assert [each for each in reads if each.store == MESSAGES] == []


def test_a_conflict_is_an_anomaly_that_bright_has(connection: Connection) -> None:
    """OT-18, OT-42: Bright has that message with its first content."""
    record_batch(connection, batch(fact("m1")))
    kept = anomaly("at bright")

    apply(connection, {**result("m1", status="conflict"), "ifConflict": kept})

    candidate = only(connection, CANDIDATES)
    assert (candidate["status"], candidate["code"]) == ("anomaly", "conflict")
    assert only(connection, ANOMALIES) == kept
    assert only(connection, CHECKPOINTS)["latestMessageId"] == "m1"


def test_a_rejection_keeps_its_code_and_is_no_news(connection: Connection) -> None:
    record_batch(connection, batch(fact("m1"), fact("m2")))
    named: DeliveryResult = {**result("m1", status="rejected"), "code": "too_old"}

    apply(connection, named, result("m2", status="rejected"))

    codes = [each["code"] for each in records(connection, CANDIDATES)]
    assert codes == ["too_old", "rejected"]
    assert only(connection, CHECKPOINTS)["latestMessageId"] is None
    assert still_pending(connection, ACCOUNT, CONVERSATION) == 0


def test_counts_are_one_accounts(connection: Connection) -> None:
    """OT-17."""
    record_batch(connection, batch(fact("m1"), fact("m2")))
    record_batch(connection, batch(fact("m1"), account=OTHER_ACCOUNT))
    apply(connection, result("m1"))

    assert count_candidates(connection, ACCOUNT, "pending_ack") == 1
    assert count_candidates(connection, ACCOUNT, "confirmed") == 1
    assert count_candidates(connection, OTHER_ACCOUNT, "pending_ack") == 1


def test_the_oldest_pending_is_by_when_it_was_seen(connection: Connection) -> None:
    record_batch(connection, batch(fact("m1", 1), at=NOW + 5))
    record_batch(connection, batch(fact("m2", 2), at=NOW))

    assert oldest_pending_since(connection, ACCOUNT, 10) == NOW
    assert oldest_pending_since(connection, ACCOUNT, 1) == NOW + 5
    assert oldest_pending_since(connection, OTHER_ACCOUNT, 10) is None


def test_the_oldest_pending_is_that_of_those_that_have_a_time(
    connection: Connection,
) -> None:
    """OT-13: a record of another version may have none."""
    odd = {"channelAccountId": ACCOUNT, "status": "pending_ack"}
    put(connection, CANDIDATES, {"candidateKey": "[]", **odd})
    assert oldest_pending_since(connection, ACCOUNT, 10) is None
    put(connection, CANDIDATES, {"candidateKey": "[1]", **odd, "observedAtMs": 7})
    assert oldest_pending_since(connection, ACCOUNT, 10) == 7


def test_a_key_that_names_another_account_is_no_conversation_of_this(
    connection: Connection,
) -> None:
    """OT-17: smaller or greater than this account's, or written in another way."""
    odd = {"channelAccountId": ACCOUNT, "status": "pending_ack"}
    for key in (["!", "c", "1", "m"], ["~", "c", "1", "m"]):
        put(connection, CANDIDATES, {"candidateKey": json.dumps(key), **odd})
        compact = json.dumps(key, separators=(",", ":"))
        put(connection, CANDIDATES, {"candidateKey": compact, **odd})
    record_batch(connection, batch(fact("m1")))
    page: Page = {"limit": 9, "after": None}
    assert pending_conversations(connection, ACCOUNT, page) == [CONVERSATION]


def test_what_the_server_lost_is_offered_again(connection: Connection) -> None:
    """Confirmed ones and conflicts; what was rejected stays rejected."""
    record_batch(connection, batch(fact("m1"), fact("m2"), fact("m3")))
    rejected = result("m3", status="rejected")
    conflict = result("m2", status="conflict")
    apply(connection, result("m1"), conflict, rejected)

    turned = reoffer(connection, ACCOUNT, CONVERSATION)

    first, second, third = records(connection, CANDIDATES)
    assert turned == 2
    assert (first["status"], second["status"]) == ("pending_ack", "pending_ack")
    assert "code" not in second
    assert third["status"] == "rejected"
    assert first["confirmedAtMs"] == NOW + 9
    checkpoint = only(connection, CHECKPOINTS)
    assert (checkpoint["latestMessageId"], checkpoint["completionSent"]) == (
        None,
        False,
    )


def test_an_account_is_offered_again_in_bounded_steps(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-17: one account's, `REOFFER_STEP` at a time."""
    for conversation in ("c1", "c2"):
        names = [f"m{each}" for each in range(REOFFER_STEP // 2 + 1)]
        facts = [fact(name) for name in names]
        record_batch(connection, batch(*facts, conversation=conversation))
        results = [result(name, conversation=conversation) for name in names]
        apply_results(connection, ACCOUNT, conversation, results, NOW)
    record_batch(connection, batch(fact("m1"), account=OTHER_ACCOUNT))
    theirs = [result("m1", account=OTHER_ACCOUNT)]
    apply_results(connection, OTHER_ACCOUNT, CONVERSATION, theirs, NOW)
    reads.clear()

    turned = reoffer(connection, ACCOUNT, None)

    assert turned == 2 * (REOFFER_STEP // 2 + 1)
    assert count_candidates(connection, OTHER_ACCOUNT, "confirmed") == 1
    lists = [each for each in reads if each.operation == "get_all"]
    assert {each.limit for each in lists} == {REOFFER_STEP}
    assert len(lists) == 3


def test_old_candidates_that_lack_their_names_go_on(connection: Connection) -> None:
    """OT-13: without a message's id it has no message; without a conversation's none
    is made for it.
    """
    record_batch(connection, batch(fact("m1")))
    whole = only(connection, CANDIDATES)
    nameless = {name: whole[name] for name in whole if name != "messageId"}
    homeless = {name: whole[name] for name in whole if name != "conversationId"}
    put(
        connection,
        CANDIDATES,
        nameless,
        {**homeless, "candidateKey": "other", "status": "confirmed"},
    )
    before = records(connection, CHECKPOINTS)

    (pair,) = next_pending(connection, ACCOUNT, CONVERSATION, 9)
    turned = reoffer(connection, ACCOUNT, None)

    assert pair == {"candidate": nameless, "message": None}
    assert turned == 1
    assert records(connection, CHECKPOINTS) == before
    assert count_candidates(connection, ACCOUNT, "pending_ack") == 2
