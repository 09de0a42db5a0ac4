"""The text of keys, as JavaScript's JSON.stringify writes it (docs/store.md)."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage_schema import UNDEFINED, compare
from storage_schema.onetalk.javascript import (
    greatest,
    is_at_most,
    is_less,
    is_truthy,
    json_text,
    least,
    number_of,
    text_of,
)
from storage_schema.onetalk.keys import (
    candidate_key,
    candidate_key_span,
    candidate_order,
    conversation_key,
    message_key,
    read_candidate_key,
)

NODE = Path(__file__).resolve().parents[3] / ".venv" / "bin" / "node"
ODD_TEXTS = [
    "",
    "plain",
    'quote " and \\',
    "\b\f\n\r\t\0\x1f\x7f\u2028\u2029\ufeff",
    "中文 Кириллица",
    "😀",
    "\ud83d",
    "\ude00",
    "\ude00\ud83d",
    "a\ud83d\ude00b",
    "[1,2]",
    "\uffff",
]


def in_node(program: str, given: object) -> object:
    """What a line of JavaScript over `given` gives; both as ASCII JSON."""
    script = (
        "const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        f"process.stdout.write(JSON.stringify({program}).replace("
        "/[^ -~]/g, (unit) => '\\\\u'"
        " + unit.charCodeAt(0).toString(16).padStart(4, '0')));"
    )
    ran = subprocess.run(
        [str(NODE), "-e", script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answer: object = json.loads(ran.stdout)
    return answer


def test_ids_that_are_no_texts_are_written_as_javascript_writes_them() -> None:
    """Nothing but texts belongs there; old records and callers' mistakes still do."""
    odd = [[7, "a"], [None, True, "b"], ["a", 1]]
    assert [json_text(ids) for ids in odd] == in_node(  # type: ignore[arg-type]
        "given.map((ids) => JSON.stringify(ids))", odd
    )


def test_keys_are_written_as_javascript_writes_them() -> None:
    """OT-01, OT-02: one scope has one key in both writings, whatever its characters."""
    ids = [[one, other] for one in ODD_TEXTS for other in ODD_TEXTS]

    assert in_node("given.map((one) => JSON.stringify(one))", ids) == [
        json_text(each) for each in ids
    ]


def test_numbers_are_written_as_javascript_writes_them() -> None:
    """A candidate's time comes from a page: any double has to give the same key."""
    numbers = [0, 7, -5, 1.5, 1e15, 1e20, 1e21, 1.25e-7, 1e-5, 123456.789, 2**53 + 1]
    numbers += [1e-6, 0.00001234, 5e-324, 1.7976931348623157e308, 123e18, -1e-7]

    assert in_node("given.map(String)", numbers) == [text_of(each) for each in numbers]


def test_texts_become_numbers_as_in_javascript() -> None:
    texts = ["", " 12 ", "000001700000000000", "1e3", "x", "1_000", "nan", "-.5", "5."]
    seen = in_node("given.map(Number)", texts)
    ours = [number_of(each) for each in texts]

    assert seen == [None if math.isnan(each) else each for each in ours]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(), min_size=2, max_size=4))
def test_no_id_runs_into_its_neighbour(parts: list[str]) -> None:
    """OT-01: different scopes have different keys, and a key names its scope again."""
    assert json.loads(json_text(parts)) == parts


def test_a_scopes_key_has_no_spaces() -> None:
    assert message_key("a", "b", "c") == '["a","b","c"]'
    assert conversation_key("a", "b,c") == '["a","b,c"]'


def test_candidate_keys_sort_in_upload_order() -> None:
    """OT-42: within a conversation the text order of keys is oldest first."""
    times = [0, 9, 10, 99_999, 1_700_000_000_000, 999_999_999_999_999]
    keys = [candidate_key("a", "c", each, "m") for each in times]

    assert sorted(keys) == keys
    assert candidate_order(keys[0], keys[1]) < 0 == candidate_order(keys[0], keys[0])


def test_text_order_is_by_utf16_units() -> None:
    """An astral character sorts before U+FFFF in JavaScript, after it in Python."""
    assert candidate_order("😀", "\uffff") < 0
    assert compare("😀", "\uffff") < 0


def test_a_span_holds_every_candidate_of_its_conversation_and_no_other() -> None:
    span = candidate_key_span("a", "c")
    inside = [candidate_key("a", "c", 5, each) for each in ODD_TEXTS]
    outside = [candidate_key("a", each, 5, "m") for each in ("b", "c1", "c ", "d")]

    assert all(
        is_less(span.first, each) and is_less(each, span.last) for each in inside
    )
    assert not any(
        is_less(span.first, each) and is_less(each, span.last) for each in outside
    )


def test_a_candidate_key_names_its_parts_again() -> None:
    name = read_candidate_key(candidate_key("a", "c", 1_700_000_000_000, "m"))

    assert name is not None
    assert (name.channel_account_id, name.conversation_id) == ("a", "c")
    assert (name.sent_at_ms, name.message_id) == (1_700_000_000_000, "m")


@pytest.mark.parametrize(
    "key",
    [None, 5, "", "x", "{}", '["a","b","c"]', '["a","b",5,"c"]', '["a","b",NaN,"c"]'],
)
def test_what_is_no_candidate_key_has_no_parts(key: object) -> None:
    assert read_candidate_key(key) is None


def test_a_field_that_is_not_there_counts_as_in_javascript() -> None:
    """A record of another version may lack fields; NaN and undefined then decide."""
    assert math.isnan(greatest([1, UNDEFINED]))
    assert math.isnan(least([1, UNDEFINED]))
    assert (greatest([None, -1]), least([None, 1])) == (0, 0)
    assert not is_less(UNDEFINED, 1)
    assert not is_at_most(UNDEFINED, 1)
    values: list[object] = [UNDEFINED, None, 0, "", math.nan, {}, []]
    assert [is_truthy(each) for each in values] == [False] * 5 + [True] * 2
