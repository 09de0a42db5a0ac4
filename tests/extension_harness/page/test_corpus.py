"""The corpus is the same for the same seed, and carries every messy input."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from extension_harness.page.corpus import Corpus
from extension_harness.page.errors import CorpusError
from extension_harness.page.messy import ALL_CODES, CATALOGUE, DEFAULT_CODES, Where
from extension_harness.page.switches import Switches
from extension_harness.page.truth import Fault


@pytest.fixture(scope="module")
def default() -> Corpus:
    return Corpus.generate(1)


def test_the_same_seed_makes_the_same_corpus_and_another_seed_another() -> None:
    first = Corpus.generate(3, conversations=8, messages=200)

    assert first == Corpus.generate(3, conversations=8, messages=200)
    assert first.rows != Corpus.generate(4, conversations=8, messages=200).rows


def test_the_default_has_200_conversations_and_exactly_10000_valid_messages(
    default: Corpus,
) -> None:
    ids = {row.number for row in default.messages()}

    assert len(default.conversations) == 200
    assert len({c.conversation_id for c in default.conversations}) == 200
    assert (len(default.messages()), len(ids)) == (10_000, 10_000)


@pytest.mark.parametrize("code", sorted(ALL_CODES))
def test_every_messy_input_is_in_the_default_corpus(code: str, default: Corpus) -> None:
    carried = default.carriers(code)

    assert bool(carried) == (CATALOGUE[code].where is not Where.SWITCH), carried


def test_there_are_44_messy_inputs_and_only_one_waits_for_a_switch() -> None:
    expected = {f"M{number:02d}" for number in range(1, 45)}

    assert expected == ALL_CODES
    assert {"M06"} == ALL_CODES - DEFAULT_CODES


def test_every_fault_that_a_history_can_show_is_in_the_default_corpus(
    default: Corpus,
) -> None:
    faults = {row.fault for rows in default.rows.values() for row in rows}

    assert faults == {*Fault, None} - {Fault.NO_CONVERSATION}  # events alone can


def test_a_corpus_without_messy_inputs_has_no_invalid_row() -> None:
    clean = Corpus.generate(1, conversations=20, messages=400, messy=frozenset())

    assert len(clean.messages()) == sum(map(len, clean.rows.values()))
    assert not any(row.codes for row in clean.messages())
    assert clean.carriers("M10") == []


def test_ids_have_13_digits_and_increase_with_time_over_all_conversations(
    default: Corpus,
) -> None:
    rows = [row for rows in default.rows.values() for row in rows]
    by_id = sorted(rows, key=lambda row: row.number)

    assert {len(str(row.number)) for row in rows} == {13}
    assert by_id == sorted(by_id, key=lambda row: (row.position_ms, row.number))


def test_conversations_have_a_heavy_tail(default: Corpus) -> None:
    sizes = [len(rows) for rows in default.rows.values()]

    assert sizes[0] > 1_500
    assert min(sizes) >= 1
    assert sorted(sizes)[100] < 30


def test_sellers_stand_on_either_side_and_ids_sort_as_numbers(default: Corpus) -> None:
    sides = {chat.seller_first for chat in default.conversations}
    pairs = [c.conversation_id.partition("#")[0] for c in default.conversations]

    assert sides == {True, False}
    assert all(int(a) < int(b) for a, b in (pair.split("-") for pair in pairs))
    assert any(a > b for a, b in (pair.split("-") for pair in pairs)), "10 digits exist"


def test_m05_a_cluster_in_one_millisecond_is_larger_than_a_page_and_below_100(
    default: Corpus,
) -> None:
    times: dict[int, int] = {}
    for row in next(iter(default.rows.values())):
        times[row.position_ms] = times.get(row.position_ms, 0) + 1

    assert 20 < max(times.values()) < 100


def test_m43_the_same_words_of_the_same_sender_are_two_messages(
    default: Corpus,
) -> None:
    twins = [row for row in default.messages() if "M43" in row.codes]

    assert len({row.number for row in twins}) == 2
    assert len({(row.text, row.sender_id) for row in twins}) == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"conversations": 0, "messages": 5}, "conversation"),
        ({"messages": -1}, "0 or more"),
        ({"messy": frozenset({"M99"})}, "M99"),
        ({"account": "seller"}, "digits"),
    ],
)
def test_a_corpus_that_cannot_be_made_is_refused_in_words(
    arguments: dict[str, object], word: str
) -> None:
    with pytest.raises(CorpusError, match=word):
        Corpus.generate(1, **arguments)  # type: ignore[arg-type]


def test_an_empty_page_and_a_tiny_one_are_possible() -> None:
    assert Corpus.generate(1, conversations=0, messages=0).rows == {}
    assert len(Corpus.generate(1, conversations=2, messages=3).messages()) == 3


def test_the_guide_names_every_messy_input_and_every_switch() -> None:
    guide = (Path(__file__).parents[3] / "docs/simulated-page.md").read_text()
    codes = re.findall(r"^\| (M\d\d) \|", guide, re.MULTILINE)
    named = set(re.findall(r"`([a-z_]+)`", guide))

    assert codes == sorted(ALL_CODES)
    assert {field.name for field in fields(Switches)} <= named
