"""A seed is a script: the same each time, and together they reach every operation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from extension_harness.differential import histories, scripts
from extension_harness.differential.verbs import VERBS
from storage_schema.onetalk.names import CANDIDATES, CARDS, MESSAGES
from storage_schema.onetalk.records import CandidateStatus, CardRecord, CardStatus
from storage_schema.tagged import value_of

SEEDS = range(600)
STEPS = {"open", "tx", "close", "version", "deleteDatabase", "dump", "cmp", "range"}
OPS = {
    *("add", "put", "get", "getKey", "getAll", "getAllKeys", "count", "delete"),
    *("clear", "cursor", "createStore", "deleteStore", "renameStore"),
    *("createIndex", "deleteIndex", "renameIndex", "abort", "commit"),
}
ACTIONS = {
    "continue",
    "advance",
    "continuePrimaryKey",
    "update",
    "delete",
    "op",
    "stop",
}
QUERIES = {"key", "only", "bound", "lowerBound", "upperBound"}
DIRECTIONS = {"next", "nextunique", "prev", "prevunique", "sideways"}
TAGS = {
    *("undefined", "num", "bigint", "u16", "repeat", "date", "bin", "arr", "obj"),
    *("map", "set", "regexp", "box", "nest", "function", "symbol", "detached", "ref"),
}
FLAGS = {"unique", "multiEntry", "autoIncrement", "pipeline", "keyOnly", "catch"}


def objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return list(objects([scripts.generate(seed) for seed in SEEDS]))


def named(found: list[dict[str, Any]], member: str) -> set[object]:
    return {each[member] for each in found if isinstance(each.get(member), str)}


def test_the_same_seed_makes_the_same_case() -> None:
    for generate in (scripts.generate, histories.generate):
        assert generate(7) == generate(7)
        assert generate(7) != generate(8)


def test_a_case_is_json_and_survives_it() -> None:
    for seed in SEEDS:
        for case in (scripts.generate(seed), histories.generate(seed)):
            text = json.dumps(case, allow_nan=False)
            assert json.loads(text) == case


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ("do", STEPS),
        ("op", OPS),
        ("a", ACTIONS),
        ("$", TAGS),
        ("direction", DIRECTIONS),
    ],
)
def test_scripts_reach_every_word_of_the_format(
    found: list[dict[str, Any]], member: str, words: set[str]
) -> None:
    assert named(found, member) >= words


def test_scripts_reach_every_query_flag_and_kind_of_index(
    found: list[dict[str, Any]],
) -> None:
    queries = {kind for each in found for kind in each.get("query", {})}
    assert queries >= QUERIES
    assert {
        flag for flag in FLAGS if any(each.get(flag) is True for each in found)
    } == (FLAGS)
    paths = [each["keyPath"] for each in found if each.get("op") == "createIndex"]
    assert any(isinstance(path, list) and len(path) > 1 for path in paths)
    assert any(isinstance(path, str) and "." in path for path in paths)


def test_a_transaction_is_always_followed_by_a_dump() -> None:
    for seed in SEEDS:
        script = scripts.generate(seed)
        for step, after in zip(script, [*script[1:], {}], strict=True):
            assert step["do"] not in {"open", "tx"} or after.get("do") == "dump"


def test_what_has_no_one_outcome_in_chromium_is_not_made() -> None:
    """A stored -0, and commit() after createIndex(): docs/storage-model.md."""
    for seed in SEEDS:
        for step in scripts.generate(seed):
            ops = step.get("upgrade", [])
            kinds = {op["op"] for op in ops}
            assert not {"createIndex", "commit"} <= kinds
            for op in (*ops, *step.get("ops", [])):
                assert op.get("key") != {"$": "num", "v": "-0"}


def test_histories_reach_every_verb_and_every_old_version() -> None:
    made = [histories.generate(seed) for seed in SEEDS]

    verbs = {call["verb"] for history in made for call in history["calls"]}
    versions = {history["start"] and history["start"]["version"] for history in made}

    assert verbs == set(VERBS)
    assert versions == {None, 6, 7, 8, 9}


def old_records() -> dict[tuple[int, str], list[dict[str, Any]]]:
    """What old databases hold, by version and store."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for start in filter(None, (histories.generate(seed)["start"] for seed in SEEDS)):
        for op in start["upgrade"]:
            held = found.setdefault((start["version"], op.get("store", "")), [])
            if op["op"] == "put":
                held.append(value_of(op["value"]))
    return found


def test_old_databases_hold_records_in_each_of_their_stores() -> None:
    held = old_records()

    for version, extra in histories.EXTRA.items():
        for store in (*histories.FIVE, *extra):
            assert held.get((version, store)), (version, store)


def test_old_cards_are_whole_and_some_lack_a_field() -> None:
    """Every field of docs/store.md, with those that come with an answer."""
    always = set(CardRecord.__annotations__) - {"confirmedAtMs", "code"}

    cards = old_records()[9, CARDS]

    missing = [always - card.keys() for card in cards]
    assert set() in missing
    assert len({name for names in missing for name in names}) > 3
    assert not any("key" in names for names in missing)
    assert {name for card in cards for name in card} == set(CardRecord.__annotations__)
    assert {card["status"] for card in cards if "status" in card} == set(
        get_args(CardStatus)
    )


def test_old_candidates_are_those_of_old_messages() -> None:
    """So that answers find them, and none is of a message that is not there."""
    held = old_records()
    candidates = [
        each for version in (6, 7, 8, 9) for each in held[version, CANDIDATES]
    ]
    states = {each["status"] for each in candidates if "status" in each}

    for start in filter(None, (histories.generate(seed)["start"] for seed in SEEDS)):
        puts = [op for op in start["upgrade"] if op["op"] == "put"]
        keys = {
            name: [
                json.loads(value_of(op["value"])[key])
                for op in puts
                if op["store"] == name
            ]
            for name, key in ((MESSAGES, "key"), (CANDIDATES, "candidateKey"))
        }
        for account, conversation, _, message in keys[CANDIDATES]:
            assert [account, conversation, message] in keys[MESSAGES]
    assert states == set(get_args(CandidateStatus))
