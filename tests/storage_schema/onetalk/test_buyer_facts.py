"""Buyer facts: the newest observation, and whether Bright has exactly it."""

from __future__ import annotations

from storage_schema import Connection
from storage_schema.onetalk import (
    confirm_buyer_facts,
    drop_buyer_facts,
    read_buyer_facts,
    record_buyer_facts,
)
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import BUYER_FACTS
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    OTHER_ACCOUNT,
    buyer,
    mark,
)
from tests.storage_schema.onetalk.stored import only


def test_facts_are_kept_under_their_conversation(connection: Connection) -> None:
    assert record_buyer_facts(connection, buyer("f1", 10))
    assert only(connection, BUYER_FACTS) == {
        "key": conversation_key(ACCOUNT, CONVERSATION),
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "facts": {"of": "f1"},
        "fingerprint": "f1",
        "observedAtMs": 10,
        "uploadedFingerprint": None,
    }


def test_only_strictly_newer_facts_are_taken(connection: Connection) -> None:
    """And others than Bright's are not known to it, whatever it had before."""
    record_buyer_facts(connection, buyer("f1", 10))
    confirm_buyer_facts(connection, ACCOUNT, mark("f1", 10))

    taken = [record_buyer_facts(connection, buyer("f2", at)) for at in (9, 10, 11)]

    assert taken == [False, False, True]
    record = only(connection, BUYER_FACTS)
    assert (record["fingerprint"], record["uploadedFingerprint"]) == ("f2", None)
    assert record["facts"] == {"of": "f2"}


def test_the_same_facts_again_stay_known(connection: Connection) -> None:
    record_buyer_facts(connection, buyer("f1", 10))
    confirm_buyer_facts(connection, ACCOUNT, mark("f1", 10))

    assert record_buyer_facts(connection, buyer("f1", 11))

    assert only(connection, BUYER_FACTS)["uploadedFingerprint"] == "f1"


def test_facts_that_come_back_are_told_again(connection: Connection) -> None:
    """Bright may have those between, whose ACK was lost."""
    record_buyer_facts(connection, buyer("f1", 10))
    confirm_buyer_facts(connection, ACCOUNT, mark("f1", 10))
    record_buyer_facts(connection, buyer("f2", 11))

    record_buyer_facts(connection, buyer("f1", 12))

    assert only(connection, BUYER_FACTS)["uploadedFingerprint"] is None


def test_what_can_never_be_taken_goes_and_an_older_one_counts(
    connection: Connection,
) -> None:
    """OT-84: a clock that was ahead stands in nobody's way afterwards."""
    record_buyer_facts(connection, buyer("f1", 900))

    others = [
        drop_buyer_facts(connection, account, each)
        for account, each in (
            (ACCOUNT, mark("f1", 10)),
            (ACCOUNT, mark("f2", 900)),
            (OTHER_ACCOUNT, mark("f1", 900)),
        )
    ]

    assert others == [False] * 3
    assert drop_buyer_facts(connection, ACCOUNT, mark("f1", 900))
    assert record_buyer_facts(connection, buyer("f2", 20))


def test_only_an_exact_match_confirms(connection: Connection) -> None:
    nobody = confirm_buyer_facts(connection, ACCOUNT, mark("f1", 10))
    record_buyer_facts(connection, buyer("f1", 10))

    counted = [
        confirm_buyer_facts(connection, account, each)
        for account, each in (
            (ACCOUNT, mark("f1", 9)),
            (ACCOUNT, mark("f2", 10)),
            (OTHER_ACCOUNT, mark("f1", 10)),
            (ACCOUNT, mark("f1", 10)),
        )
    ]

    assert (nobody, counted) == (False, [False, False, False, True])
    assert only(connection, BUYER_FACTS)["uploadedFingerprint"] == "f1"


def test_facts_are_read_by_key_in_the_order_asked(connection: Connection) -> None:
    """OT-16: no index without a reader, so no read but by key."""
    for account, name in ((ACCOUNT, "c1"), (ACCOUNT, "c2"), (OTHER_ACCOUNT, "c1")):
        record_buyer_facts(connection, buyer("f", 1, account, name))
    asked = [(ACCOUNT, "c2"), (ACCOUNT, "c9"), (OTHER_ACCOUNT, "c1")]

    found = read_buyer_facts(connection, [conversation_key(*each) for each in asked])

    assert [
        each and (each["channelAccountId"], each["conversationId"]) for each in found
    ] == [
        (ACCOUNT, "c2"),
        None,
        (OTHER_ACCOUNT, "c1"),
    ]
