"""The list of breakages does not rot: each still fits its file, and each area of the
rules and each trouble of the page has one.

That each is caught is told by `python -m tests.mutations`, which takes minutes.
"""

from __future__ import annotations

import json
import re

import pytest

from tests import rule_index
from tests.mutations import cli
from tests.mutations.catalogue import (
    ROOT,
    Mutation,
    MutationError,
    chosen,
    mutations,
)

ALL = mutations()
TROUBLES = re.findall(
    r"^\| (P\d+) \|", (ROOT / "docs/page-trouble.md").read_text("utf-8"), re.MULTILINE
)
MOST_WITH_BROWSER = 5
AREAS = {
    "identity and scope": ("OT", range(1, 7)),
    "the durable store": ("OT", range(10, 22)),
    "durable first": ("OT", range(30, 33)),
    "full, incremental, live": ("OT", range(40, 47)),
    "completion and anchors": ("OT", range(50, 52)),
    "connection lifecycle": ("OT", range(60, 66)),
    "restart": ("OT", range(70, 71)),
    "profiles": ("OT", range(80, 88)),
    "rendered cards": ("OT", range(90, 93)),
    "operations of a commit": ("MS", range(1, 4)),
    "before a commit": ("MS", range(10, 16)),
    "after a commit": ("MS", range(20, 29)),
    "errors of a commit": ("MS", range(30, 32)),
    "one contract, every store": ("MS", range(40, 41)),
}


def numbered(area: str) -> set[str]:
    kind, numbers = AREAS[area]
    return {f"{kind}-{number:02}" for number in numbers}


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(ALL) >= 44
    assert len({each.id for each in ALL}) == len(ALL)
    assert sum(each.needs_browser for each in ALL) <= MOST_WITH_BROWSER


@pytest.mark.parametrize("mutation", ALL, ids=lambda each: each.id)
def test_a_mutation_still_fits_its_file(mutation: Mutation) -> None:
    text = (ROOT / mutation.file).read_text("utf-8")

    assert mutation.applied_to(text) != text


@pytest.mark.parametrize("mutation", ALL, ids=lambda each: each.id)
def test_a_mutation_names_rules_and_tests_that_exist(mutation: Mutation) -> None:
    assert mutation.rules
    assert set(mutation.rules) <= {*rule_index.rules(), *TROUBLES}
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), test
        # A pattern that fits no test would pass whatever is broken.
        if file.endswith(".mjs"):
            assert name in (ROOT / file).read_text("utf-8"), test


@pytest.mark.parametrize("area", AREAS)
def test_every_area_of_the_rules_is_broken_on_purpose(area: str) -> None:
    broken = {rule for each in ALL for rule in each.rules}

    assert broken & numbered(area)


def test_every_trouble_of_the_page_is_hidden_on_purpose() -> None:
    assert [f"P{number}" for number in range(1, 16)] == TROUBLES
    assert set(TROUBLES) <= {rule for each in ALL for rule in each.rules}


def test_the_areas_are_all_of_the_rules() -> None:
    assert {*rule_index.rules()} <= {rule for area in AREAS for rule in numbered(area)}


def test_a_text_that_is_not_there_once_is_no_mutation() -> None:
    mutation = Mutation("m", ("OT-01",), "a.py", "old", "new", ("tests/a.py",))

    assert mutation.applied_to("the old text") == "the new text"
    for text in ("", "old and old"):
        with pytest.raises(MutationError, match=r"m: its old text is \d times in a.py"):
            mutation.applied_to(text)


def test_only_known_ones_can_be_chosen() -> None:
    assert [each.id for each in chosen([ALL[3].id], with_browser=True)] == [ALL[3].id]
    with pytest.raises(MutationError, match="no such mutation: nonsense"):
        chosen(["nonsense"], with_browser=True)
    assert cli.main(["nonsense"]) == cli.USAGE
    of_rule = chosen([], ["OT-85", "P3"], with_browser=True)
    assert {rule for each in of_rule for rule in each.rules} >= {"OT-85", "P3"}
    assert all({"OT-85", "P3"} & {*each.rules} for each in of_rule)
    assert cli.main(["--rule", "P16"]) == cli.USAGE


def test_a_caught_and_a_survivor_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = "extension_harness/extension/shared/keys.js"
    zeros = 'String(sentAtMs).padStart(TIME_DIGITS, "0")'
    tests = ("tests/extension/keys.test.mjs",)
    rules = ("OT-42",)
    picked = [
        Mutation("caught", rules, keys, zeros, "String(sentAtMs)", tests),
        Mutation("kept", rules, keys, zeros, f"({zeros})", tests),
    ]
    monkeypatch.setattr(cli, "chosen", lambda *_, **__: picked)
    before = (ROOT / keys).read_bytes()

    assert cli.main(["--json"]) == cli.NOT_CAUGHT

    told = json.loads(capsys.readouterr().out)
    assert [each["outcome"] for each in told] == ["caught", "survived"]
    assert any("OT-42" in name for name in told[0]["by"])
    assert (ROOT / keys).read_bytes() == before
