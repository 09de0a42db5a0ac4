"""Checkpoints and bootstraps, and what the conversation list may say of them."""

from __future__ import annotations

import pytest

from storage_schema import UNDEFINED, Connection, Read
from storage_schema.onetalk import (
    checkpoints_of,
    known_accounts,
    read_bootstraps,
    read_checkpoint,
    record_batch,
    take_list,
    update_checkpoint,
)
from storage_schema.onetalk.checkpoints import MAX_ACCOUNTS, PAGE, new_checkpoint
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import BOOTSTRAPS, CHECKPOINTS
from storage_schema.onetalk.records import ListedConversation
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    batch,
    fact,
)
from tests.storage_schema.onetalk.stored import only, put


def listed_at(connection: Connection, at: int | None) -> object:
    listed = {"conversationId": CONVERSATION, "latestMessageAtMs": at}
    take_list(connection, ACCOUNT, [listed], NOW)  # type: ignore[list-item]
    checkpoint = read_checkpoint(connection, ACCOUNT, CONVERSATION)
    assert checkpoint is not None
    return checkpoint["latestMessageAtMs"]


def test_the_list_leaves_a_bootstrap_and_a_checkpoint(connection: Connection) -> None:
    """OT-05: the activity time comes from the list alone."""
    listed: list[ListedConversation] = [
        {"conversationId": CONVERSATION, "latestMessageAtMs": 50, "title": "T"}
    ]
    assert take_list(connection, ACCOUNT, listed, NOW) == [CONVERSATION]
    assert take_list(connection, ACCOUNT, listed, NOW) == []  # it is met already

    assert only(connection, BOOTSTRAPS) == {
        "key": conversation_key(ACCOUNT, CONVERSATION),
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "latestMessageAtMs": 50,
        "title": "T",
        "listedAtMs": NOW,
    }
    expected = new_checkpoint(ACCOUNT, CONVERSATION)
    expected["latestMessageAtMs"] = 50
    assert only(connection, CHECKPOINTS) == expected


def test_an_activity_time_never_moves_backwards(connection: Connection) -> None:
    """OT-05; the bootstrap says what the list said last."""
    seen = [listed_at(connection, at) for at in (None, 50, 40, None, 60)]

    assert seen == [None, 50, 50, 50, 60]
    assert only(connection, BOOTSTRAPS)["latestMessageAtMs"] == 60


def test_a_checkpoint_that_lacks_fields_reads_as_one_just_met(
    connection: Connection,
) -> None:
    """OT-05, OT-13: an old record; what it lacks is written with a change."""
    whole: dict[str, object] = {**new_checkpoint(ACCOUNT, CONVERSATION)}
    old = {name: whole[name] for name in ("key", "channelAccountId", "conversationId")}
    put(connection, CHECKPOINTS, {**old, "pages": 3, "latestMessageAtMs": UNDEFINED})

    assert read_checkpoint(connection, ACCOUNT, CONVERSATION) == {**whole, "pages": 3}
    assert next(checkpoints_of(connection, ACCOUNT)) == [{**whole, "pages": 3}]
    assert listed_at(connection, 50) == 50
    assert only(connection, CHECKPOINTS) == {
        **whole,
        "pages": 3,
        "latestMessageAtMs": 50,
    }


@pytest.mark.parametrize("lost", ["channelAccountId", "conversationId"])
def test_a_checkpoint_without_its_ids_reads_with_none_made_up(
    connection: Connection, lost: str
) -> None:
    """OT-13: neither in what is read nor in what a change writes."""
    whole: dict[str, object] = {**new_checkpoint(ACCOUNT, CONVERSATION), "pages": 3}
    held = {name: whole[name] for name in whole if name != lost}
    put(connection, CHECKPOINTS, held)

    assert read_checkpoint(connection, ACCOUNT, CONVERSATION) == {**held}
    assert listed_at(connection, 50) == 50
    assert only(connection, CHECKPOINTS) == {**held, "latestMessageAtMs": 50}

    emptied: dict[str, object] = {**whole, lost: None}
    put(connection, CHECKPOINTS, emptied)

    assert read_checkpoint(connection, ACCOUNT, CONVERSATION) == emptied


def test_the_latest_time_of_a_conversation_named_twice_counts(
    connection: Connection,
) -> None:
    """OT-05: the activity time never moves backwards."""
    take_list(
        connection,
        ACCOUNT,
        [
            {"conversationId": CONVERSATION, "latestMessageAtMs": 90},
            {"conversationId": CONVERSATION, "latestMessageAtMs": 10},
        ],
        NOW,
    )

    assert only(connection, CHECKPOINTS)["latestMessageAtMs"] == 90


def test_a_list_changes_nothing_else_of_a_checkpoint(connection: Connection) -> None:
    record_batch(connection, batch(fact("m1")))
    before = only(connection, CHECKPOINTS)

    listed_at(connection, 50)

    assert only(connection, CHECKPOINTS) == {**before, "latestMessageAtMs": 50}


def test_updating_writes_only_what_is_there_and_wanted(connection: Connection) -> None:
    missing = update_checkpoint(
        connection, ACCOUNT, CONVERSATION, lambda seen: {**seen, "result": "x"}
    )
    record_batch(connection, batch(fact("m1")))
    left = update_checkpoint(connection, ACCOUNT, CONVERSATION, lambda _: None)
    written = update_checkpoint(
        connection, ACCOUNT, CONVERSATION, lambda seen: {**seen, "result": "x"}
    )

    assert (missing, left) == (None, None)
    assert written == only(connection, CHECKPOINTS)
    assert written is not None
    assert written["result"] == "x"


def test_an_accounts_checkpoints_come_whole_in_bounded_pages(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-17: two accounts with conversations of the same names; each is read once."""
    names = [f"c{each:03}" for each in range(PAGE + 3)]
    for account in (ACCOUNT, OTHER_ACCOUNT):
        put(connection, CHECKPOINTS, *(new_checkpoint(account, name) for name in names))

    reads.clear()

    pages = list(checkpoints_of(connection, ACCOUNT))

    assert [len(page) for page in pages] == [PAGE, 3]
    everything = [checkpoint for page in pages for checkpoint in page]
    assert [each["conversationId"] for each in everything] == names
    assert {each["channelAccountId"] for each in everything} == {ACCOUNT}
    to_find_the_place = 2
    assert sum(read.records for read in reads) == len(names) + to_find_the_place


def test_bootstraps_come_in_the_order_asked(connection: Connection) -> None:
    """OT-16: by primary key alone."""
    for name in ("c1", "c2"):
        listed = [{"conversationId": name, "latestMessageAtMs": None}]
        take_list(connection, ACCOUNT, listed, NOW)  # type: ignore[arg-type]
    keys = [conversation_key(ACCOUNT, name) for name in ("c2", "c9", "c1")]

    found = read_bootstraps(connection, keys)

    assert [each and each["conversationId"] for each in found] == ["c2", None, "c1"]


def test_accounts_are_known_by_their_conversations(connection: Connection) -> None:
    names = [f"a{each:02}" for each in range(MAX_ACCOUNTS + 2)]
    for name in names:
        for conversation in ("c1", "c2"):
            put(connection, CHECKPOINTS, new_checkpoint(name, conversation))

    assert known_accounts(connection) == names[:MAX_ACCOUNTS]
