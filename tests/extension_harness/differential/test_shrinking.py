"""What is left of a failing case is little more than the fault."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from extension_harness.differential import histories, scripts
from extension_harness.differential.shrinking import reductions, shrink, size


def every(condition: Any) -> Any:  # noqa: ANN401 - a planted fault
    def fails(cases: Sequence[Any]) -> list[bool]:
        return [condition(case) for case in cases]

    return fails


def uses(case: Any, **members: object) -> bool:  # noqa: ANN401 - JSON
    if isinstance(case, dict):
        mine = members.items() <= case.items()
        return mine or any(uses(inner, **members) for inner in case.values())
    return isinstance(case, list) and any(uses(inner, **members) for inner in case)


@pytest.mark.parametrize(
    "members",
    [
        {"op": "cursor", "direction": "prevunique"},
        {"multiEntry": True},
        {"a": "update"},
    ],
)
def test_a_planted_fault_shrinks_to_one_operation(members: dict[str, object]) -> None:
    seed = next(at for at in range(300) if uses(scripts.generate(at), **members))

    short = shrink(scripts.generate(seed), every(lambda case: uses(case, **members)))

    steps = [op for step in short for op in step.get("ops", step.get("upgrade", []))]
    assert len(short) == 1
    assert len(steps) == 1


def test_a_history_shrinks_to_the_calls_that_matter() -> None:
    def bad(history: Any) -> bool:  # noqa: ANN401 - JSON
        verbs = [call["verb"] for call in history.get("calls", [])]
        return "takeList" in verbs and "recordBatch" in verbs[verbs.index("takeList") :]

    seed = next(at for at in range(300) if bad(histories.generate(at)))

    short = shrink(histories.generate(seed), every(bad))

    assert [call["verb"] for call in short["calls"]] == ["takeList", "recordBatch"]


def test_a_history_keeps_the_database_that_it_starts_from() -> None:
    """Without its version or its stores it is none, and breaks both sides alike."""
    seed = next(at for at in range(300) if histories.generate(at)["start"])
    history = histories.generate(seed)

    def bad(shorter: Any) -> bool:  # noqa: ANN401 - JSON
        return bool(shorter["start"])

    short = shrink(history, every(bad))

    assert set(short["start"]) == {"do", "version", "upgrade"}
    assert short == {
        "start": {"do": "open", "version": history["start"]["version"], "upgrade": []},
        "calls": [],
    }


def test_what_does_not_fail_any_shorter_stays_as_it_is() -> None:
    case = [{"do": "open", "upgrade": [{"op": "abort"}]}]
    assert shrink(case, every(lambda other: other == case)) == case


def test_each_reduction_is_smaller_and_leaves_the_case_alone() -> None:
    case = scripts.generate(3)
    before = copy.deepcopy(case)

    assert all(size(reduced) < size(case) for reduced in reductions(case))
    assert case == before


def test_shrinking_ends_after_the_rounds_that_it_is_given() -> None:
    asked = 0

    def fails(cases: Sequence[Any]) -> list[bool]:
        nonlocal asked
        asked += 1
        return [False for _ in cases]

    shrink(scripts.generate(3), fails, rounds=2)
    assert asked == 2
