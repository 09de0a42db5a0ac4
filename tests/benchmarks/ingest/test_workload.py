"""The plan of the measured work says exactly what is sent, and how often."""

import json
from collections import Counter, defaultdict

import pytest

from benchmarks.errors import WorkloadError
from benchmarks.ingest.workload import ACCOUNT, Workload

SMALL = Workload(connections=4, batches=6, batch_messages=20, conversations=8)


def scopes(workload: Workload) -> list[tuple[str, str]]:
    return [
        (message.conversation_id, message.message_id)
        for connection in range(workload.connections)
        for batch in workload.of_connection(connection)
        for message in batch.messages
    ]


def test_the_round_is_20_connections_of_50_batches_of_100_messages() -> None:
    workload = Workload()
    assert workload.sent == 20 * 50 * 100
    assert workload.conversations == 200


def test_one_message_in_ten_is_sent_again() -> None:
    sent = scopes(SMALL)
    assert len(sent) == SMALL.sent
    assert len(set(sent)) == SMALL.new == SMALL.sent * 9 // 10


def test_a_later_round_repeats_only_what_the_round_before_it_sent() -> None:
    later = Workload(
        connections=4, batches=6, batch_messages=20, conversations=8, first_batch=6
    )
    before, after = set(scopes(SMALL)), scopes(later)
    repeated = [scope for scope in after if scope in before]
    assert len(set(after) - before) == later.new
    assert len(repeated) > 0


def test_every_conversation_is_used_equally() -> None:
    used = Counter(conversation for conversation, _ in scopes(Workload()))
    assert len(used) == 200
    assert len(set(used.values())) == 1


def test_ids_have_13_digits_and_increase_in_each_conversation() -> None:
    seen: defaultdict[str, list[str]] = defaultdict(list)
    for connection in range(SMALL.connections):
        for batch in SMALL.of_connection(connection):
            new = batch.messages[SMALL.resent_of_batch :]
            seen[batch.conversation_id] += [message.message_id for message in new]
    for ids in seen.values():
        assert all(len(one) == 13 and one.isdigit() for one in ids)
        assert ids == sorted(ids)


def test_a_message_is_about_300_bytes_of_json() -> None:
    frame = Workload().batch(0, 11).to_frame()
    assert 250 <= len(frame) / 100 <= 400


def test_a_frame_is_an_observation_batch_of_the_wire_protocol() -> None:
    frame = json.loads(SMALL.batch(2, 5).to_frame())
    assert frame["type"] == "observation.batch"
    assert frame["requestId"] == "5"
    assert frame["channelAccountId"] == ACCOUNT
    assert frame["mode"] == "full"
    assert len(frame["messages"]) == 20
    for message in frame["messages"]:
        assert message["conversationId"] == frame["conversationId"]
        assert json.loads(message["candidateKey"])[0] == ACCOUNT


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ({"connections": 3, "conversations": 200}, "multiple"),
        ({"batch_messages": 15}, "multiple of 10"),
        ({"batches": 0}, "at least 1"),
        ({"first_batch": -1}, "at least 1"),
    ],
)
def test_an_impossible_shape_is_refused_with_advice(
    shape: dict[str, int], advice: str
) -> None:
    with pytest.raises(WorkloadError, match=advice):
        Workload(**shape)
