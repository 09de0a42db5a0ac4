"""The plan says what is put and what every read must find."""

import json
from typing import Any

import pytest

from benchmarks.errors import WorkloadError
from benchmarks.model.work import ADDED, INDEXES, KEY_PATH, ModelWork, Read, Record

SMALL = ModelWork(records=2_000, reads=30)


def records(work: ModelWork) -> list[Record]:
    return [record for group in work.transactions for record in group]


def found(work: ModelWork, read: Read) -> int:
    """By looking at every record; an empty array sorts after all texts."""
    paths = INDEXES[read.index]
    upper = [*read.upper[:2], "￿"] if read.upper[-1] == [] else read.upper
    keys = ([record[path] for path in paths] for record in records(work))
    return sum(read.lower <= key <= upper for key in keys)


def test_it_is_ten_thousand_puts_and_a_thousand_reads_of_five_hundred_hits() -> None:
    work = ModelWork()
    assert (work.records, work.reads) == (10_000, 1_000)
    assert work.hits == 500 * 1_000


def test_every_read_finds_one_record_in_twenty() -> None:
    assert {found(SMALL, read) for read in SMALL.all_reads} == {100}
    assert SMALL.hits == 30 * 100


def test_the_reads_take_every_index_and_every_account_in_turns() -> None:
    reads = ModelWork().all_reads
    assert {read.index for read in reads} == set(INDEXES)
    assert len({json.dumps([read.index, read.lower]) for read in reads}) == 60


def test_a_transaction_is_a_hundred_records_of_one_conversation() -> None:
    for group in SMALL.transactions:
        assert len(group) == 100
        assert len({record["conversationId"] for record in group}) == 1


def test_records_have_eight_fields_and_keys_of_their_own() -> None:
    every = records(SMALL)
    assert {len(record) for record in every} == {8}
    assert len({record[KEY_PATH] for record in every}) == SMALL.records


def test_nested_records_are_the_same_with_an_object_in_them() -> None:
    nested = records(ModelWork(records=2_000, reads=30, nested=True))
    assert all(type(record["content"]) is dict for record in nested)
    contents = [{**record} for record in nested]
    for record in contents:
        del record["content"]
    assert contents == records(SMALL)


def test_three_compound_indexes_and_two_more_by_the_upgrade() -> None:
    assert (len(INDEXES), len(ADDED)) == (3, 2)
    assert all(len(path) >= 2 for path in [*INDEXES.values(), *ADDED.values()])


@pytest.mark.parametrize("shape", [{"records": 100}, {"records": 2_100}, {"reads": 0}])
def test_an_impossible_shape_is_refused(shape: dict[str, Any]) -> None:
    with pytest.raises(WorkloadError):
        ModelWork(**shape)
