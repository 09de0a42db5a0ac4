"""A difference is found, made short, told with its seed, and known ones are counted.

One side is the model, the other the model with a fault in it: no browser is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from extension_harness.differential import histories, scripts
from extension_harness.differential.campaign import (
    MAX_FINDINGS,
    Finding,
    run_campaign,
)
from extension_harness.differential.forms import Outcome, Script
from extension_harness.differential.known import (
    KnownDifferencesError,
    read_known,
)
from extension_harness.differential.model_side import ModelSide
from extension_harness.differential.sides import Run, Sides
from storage_schema import onetalk
from storage_schema.object_store import ObjectStore
from storage_schema.script.__main__ import main as replay_files

RIGHT = ModelSide()


def faulty(
    patch: pytest.MonkeyPatch, owner: object, name: str, wrong: Callable[..., object]
) -> Callable[[Sequence[Any]], list[Outcome]]:
    """The model with one function replaced while it runs."""

    def run(cases: Sequence[Any]) -> list[Outcome]:
        with patch.context() as now:
            now.setattr(owner, name, wrong)
            scripted = isinstance(cases[0], list)
            return (RIGHT.run_scripts if scripted else RIGHT.run_histories)(cases)

    return run


def in_turn(browser: Run, model: Run, kind: str = "script") -> Sides:
    """Sides that never run at once: the fault is in code that both share."""

    class InTurn(Sides):
        def run_both(self, cases: Sequence[Any]) -> list[tuple[Outcome, Outcome]]:
            return list(zip(self.browser(cases), self.model(cases), strict=True))

    generate = {"script": scripts.generate, "history": histories.generate}[kind]
    return InTurn(kind, generate, browser, model)


def count_too_much(patch: pytest.MonkeyPatch) -> Callable[..., list[Outcome]]:
    """A model whose clear() does nothing."""

    def clear(self: ObjectStore) -> object:
        return self.count()

    return faulty(patch, ObjectStore, "clear", clear)


def operations(script: Script) -> list[Any]:
    return [
        op for step in script for op in step.get("ops") or step.get("upgrade") or []
    ]


def test_a_faulty_model_is_found_with_a_short_script_and_its_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides = in_turn(RIGHT.run_scripts, count_too_much(monkeypatch))

    report = run_campaign(sides, range(200))

    assert report.findings
    shortest = min(report.findings, key=lambda finding: len(operations(finding.case)))
    assert [op["op"] for op in operations(shortest.case)][-1] == "clear"
    assert len(operations(shortest.case)) <= 3
    assert f"seed {shortest.seed}" in str(shortest)


def test_a_faulty_verb_is_found_with_a_short_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = faulty(monkeypatch, onetalk, "take_list", lambda *_: None)
    sides = in_turn(RIGHT.run_histories, wrong, "history")

    report = run_campaign(sides, range(30))

    assert report.findings
    calls = min((finding.case["calls"] for finding in report.findings), key=len)
    assert [call["verb"] for call in calls] == ["takeList"]


def test_equal_sides_agree_and_progress_is_told() -> None:
    told: list[int] = []
    sides = in_turn(RIGHT.run_scripts, RIGHT.run_scripts)

    report = run_campaign(sides, range(150), progress=told.append)

    assert (report.cases, report.findings, told) == (150, (), [100, 150])


def test_a_campaign_ends_when_more_differences_say_no_more() -> None:
    def broken(cases: Sequence[Any]) -> list[Outcome]:
        return [{"error": "the model broke"} for _ in cases]

    report = run_campaign(in_turn(RIGHT.run_scripts, broken), range(300))

    assert len(report.findings) == MAX_FINDINGS
    assert report.cases == 100


def found(monkeypatch: pytest.MonkeyPatch) -> tuple[Sides, Finding]:
    """The first difference that a faulty model shows."""
    sides = in_turn(RIGHT.run_scripts, count_too_much(monkeypatch))
    for seed in range(200):
        report = run_campaign(sides, [seed])
        if report.findings:
            return sides, report.findings[0]
    raise AssertionError("no seed clears a store")


def known_file(folder: Path, finding: Finding, **other: object) -> Path:
    entry: dict[str, object] = {
        "name": "clear-counts",
        "why": "planted",
        "script": json.dumps(finding.case),
        "contains": ['{"op": "clear"}'],
        "place": "ok",
        "browser": json.dumps(finding.difference.browser),
        "model": json.dumps(finding.difference.model),
    } | other
    lines = [f"{name} = {json.dumps(value)}" for name, value in entry.items()]
    path = folder / "known.toml"
    path.write_text("\n".join(["[[difference]]", *lines]), encoding="utf-8")
    return path


def test_a_known_difference_is_counted_and_no_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sides, finding = found(monkeypatch)
    known = read_known(known_file(tmp_path, finding))

    report = run_campaign(sides, [finding.seed], known)

    assert (report.known, report.findings) == ({"clear-counts": 1}, ())
    assert known[0].staleness(sides) is None


def test_another_difference_is_not_taken_for_the_known_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sides, finding = found(monkeypatch)
    for other in (
        {"contains": ['{"op": "getAll"}']},
        {"model": '"DataError"'},
        {"place": "txerr"},
    ):
        known = read_known(known_file(tmp_path, finding, **other))
        assert run_campaign(sides, [finding.seed], known).findings


def test_a_known_difference_that_is_none_any_more_is_stale(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, finding = found(monkeypatch)
    (entry,) = read_known(known_file(tmp_path, finding))

    stale = entry.staleness(in_turn(RIGHT.run_scripts, RIGHT.run_scripts))

    assert stale is not None
    assert "take the entry out" in stale


@pytest.mark.parametrize("wrong", [{"contains": []}, {"script": "[{"}, {"why": " "}])
def test_a_file_of_known_differences_that_says_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: dict[str, object]
) -> None:
    _, finding = found(monkeypatch)
    with pytest.raises(KnownDifferencesError, match="known"):
        read_known(known_file(tmp_path, finding, **wrong))


def test_a_written_script_replays_and_fails_as_it_was_found(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The file holds the browser's outcomes: the right model passes, a faulty not."""
    _, finding = found(monkeypatch)
    path = finding.write(tmp_path)

    assert replay_files([str(path)]) == 0
    monkeypatch.setattr(ObjectStore, "clear", ObjectStore.count)
    assert replay_files([str(path)]) == 1
    assert "0/1" in capsys.readouterr().out
