"""One account among others that nothing but the account tells from it."""

import json

import pytest

from benchmarks.errors import WorkloadError
from benchmarks.scoped.work import ACCOUNT, READS, STORES, ScopedWork

SMALL = ScopedWork(pending=10, others=40)


def test_it_is_a_hundred_thousand_records_of_others() -> None:
    work = ScopedWork()
    assert work.others == 100_000
    assert len(set(work.others_ids)) * work.pending == work.others


def test_the_others_stand_before_and_behind_the_account() -> None:
    ids = SMALL.others_ids
    assert ACCOUNT not in ids
    assert min(ids) < ACCOUNT < max(ids)
    assert {len(one) for one in ids} == {len(ACCOUNT)}


def test_all_records_of_the_account_wait_for_bright() -> None:
    own = SMALL.own()
    assert {store: len(own[store]) for store in own} == dict.fromkeys(STORES, 10)
    for store in ("onetalk_candidates", "onetalk_rendered_card_ledger"):
        assert {record["status"] for record in own[store]} == {"pending_ack"}
    for profile in own["onetalk_contact_profiles"]:
        assert profile["pending"]["observedAtMs"] > 0


def test_a_key_is_the_scope_of_its_record() -> None:
    own = SMALL.own()
    for candidate in own["onetalk_candidates"]:
        account, conversation, time, message = json.loads(candidate["candidateKey"])
        assert (account, conversation) == (ACCOUNT, candidate["conversationId"])
        assert (int(time), message) == (candidate["sentAtMs"], candidate["messageId"])
    for message in own["onetalk_messages"]:
        assert json.loads(message["key"])[0] == ACCOUNT


def test_another_account_takes_the_same_records_under_its_own_name() -> None:
    text = json.dumps(SMALL.own())
    other = json.loads(text.replace(ACCOUNT, SMALL.others_ids[0]))
    assert ACCOUNT not in json.dumps(other)
    for store, records in SMALL.own().items():
        names = [record["conversationId"] for record in records]
        assert names == [record["conversationId"] for record in other[store]]


def test_each_read_has_its_planned_count() -> None:
    counts = {read: SMALL.found(read) for read in READS}
    assert counts == {
        "pendingConversations": 5,
        "nextPending": 2,
        "listPendingCards": 10,
        "listPendingProfiles": 10,
    }


@pytest.mark.parametrize(
    "shape", [{"pending": 7}, {"pending": 10, "others": 15}, {"repeats": 0}]
)
def test_an_impossible_shape_is_refused(shape: dict[str, int]) -> None:
    with pytest.raises(WorkloadError):
        ScopedWork(**shape)
