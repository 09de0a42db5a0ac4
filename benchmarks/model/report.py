"""What `bright bench model` found, as one JSON object or as a table for people."""

import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.model.rounds import PARTS, ModelPlan, ModelResult, ModelRound
from benchmarks.quiet import warn_of_others

_DIGITS = 4


def model_json(plan: ModelPlan, result: ModelResult) -> dict[str, Any]:
    """The result; times are seconds, ratios are theirs/ours (1 or more: not slower)."""
    parts = {part: _part(result, part) for part in PARTS}
    return {
        "parts": parts,
        "total": {
            "model": _median([one.total for one in result.ours]),
            "fakeIndexeddb": _median([one.total for one in result.theirs]),
            "ratio": round(result.total_ratio, _DIGITS),
        },
        "lowestRatio": round(result.lowest_ratio, _DIGITS),
        "details": {
            "rounds": plan.rounds,
            "records": plan.work.records,
            "rangeReads": plan.work.reads,
            "nested": plan.work.nested,
            "hits": plan.work.hits,
            "python": result.ours[0].runtime,
            "node": result.theirs[0].runtime,
            "fakeIndexeddb": result.fake_indexeddb,
            "digests": {part: result.ours[0].found[part][1] for part in PARTS},
            "model": [_round(one) for one in result.ours],
            "fakeIndexeddbRounds": [_round(one) for one in result.theirs],
        },
    }


def print_model(plan: ModelPlan, result: ModelResult, console: Console) -> None:
    """The result as a table."""
    work = plan.work
    table = Table(title=f"medians of {plan.rounds} rounds, seconds")
    table.add_column("")
    for column in ("model", f"fake-indexeddb {result.fake_indexeddb}", "ratio"):
        table.add_column(column, justify="right")
    names = {
        "puts": f"{work.records:,} puts, three compound indexes",
        "reads": f"{work.reads:,} range reads, {work.hits // work.reads:,} hits each",
        "upgrade": "an upgrade that adds two indexes",
    }
    for part in PARTS:
        one = _part(result, part)
        table.add_row(names[part], *_cells(one))
    total = model_json(plan, result)["total"]
    table.add_row("all of it", *_cells(total))
    console.print(table)
    rounds = result.ours + result.theirs
    warn_of_others(console, statistics.median(one.others_share for one in rounds))
    console.print(
        f"fake-indexeddb takes {result.total_ratio:.2f} times as long as the model, in"
        f" the model's worst part {result.lowest_ratio:.2f} times."
    )


def _part(result: ModelResult, part: str) -> dict[str, Any]:
    return {
        "model": _median([one.seconds[part] for one in result.ours]),
        "fakeIndexeddb": _median([one.seconds[part] for one in result.theirs]),
        "ratio": round(result.ratio(part), _DIGITS),
    }


def _cells(one: dict[str, float]) -> tuple[str, str, str]:
    return f"{one['model']:.3f}", f"{one['fakeIndexeddb']:.3f}", f"{one['ratio']:.2f}"


def _median(values: list[float]) -> float:
    return round(statistics.median(values), _DIGITS)


def _round(one: ModelRound) -> dict[str, Any]:
    return {
        **{part: round(one.seconds[part], _DIGITS) for part in PARTS},
        "cpuSeconds": round(one.cpu_seconds, _DIGITS),
        "othersCpuShare": round(one.others_share, _DIGITS),
    }
