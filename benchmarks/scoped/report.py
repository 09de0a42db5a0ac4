"""What `bright bench scoped-reads` found, as one JSON object or as tables."""

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.quiet import warn_of_others
from benchmarks.scoped.rounds import SIDES, ReadRound, ScopedPlan, ScopedResult
from benchmarks.scoped.work import READS

_DIGITS = 3


def scoped_json(plan: ScopedPlan, result: ScopedResult) -> dict[str, Any]:
    """The result; times are milliseconds of one read, medians of the rounds."""
    return {
        **{side: _side(result, side) for side in SIDES},
        "highestRatio": round(result.highest_ratio(), _DIGITS),
        "writes": _writes(result),
        "details": {
            "rounds": plan.rounds,
            "repeats": plan.work.repeats,
            "pending": plan.work.pending,
            "othersInEachStore": plan.work.others,
            "chromium": result.chromium,
            "othersCpuShare": round(result.others_share, _DIGITS),
            "browser": [_round(one) for one in result.browser],
            "model": [_round(one) for one in result.model],
            "writes": [
                {
                    "records": one.records,
                    "recordBatchSeconds": round(one.verb_seconds, _DIGITS),
                    "bareSeconds": round(one.bare_seconds, _DIGITS),
                }
                for one in result.writes
            ],
        },
    }


def print_scoped(plan: ScopedPlan, result: ScopedResult, console: Console) -> None:
    """The result as a table."""
    work = plan.work
    table = Table(
        title=f"{work.pending:,} pending of one account, ms a read, medians of"
        f" {plan.rounds} rounds"
    )
    among = f"among {work.others:,}"
    table.add_column("")
    for column in ("alone", among, "ratio", f"by hand, {among}", "of by hand"):
        table.add_column(column, justify="right")
    for side in SIDES:
        for read, one in _side(result, side)["reads"].items():
            bare = [
                f"{one[name]:.2f}"
                for name in ("bareAmongMs", "ofBare")
                if side == "browser"
            ]
            table.add_row(
                f"{side}: {read}",
                f"{one['aloneMs']:.2f}",
                f"{one['amongMs']:.2f}",
                f"{one['ratio']:.2f}",
                *bare,
            )
    console.print(table)
    warn_of_others(console, result.others_share)
    writes = _writes(result)
    console.print(
        f"Others' records make the slowest read {result.highest_ratio():.2f} times as"
        f" long. recordBatch writes {writes['recordBatchPerSecond']:,.0f} records a"
        f" second, {writes['ratio']:.2f} of the same by hand, as durable."
    )


def _side(result: ScopedResult, side: str) -> dict[str, Any]:
    reads: dict[str, dict[str, float]] = {}
    for read in READS:
        one = {
            "aloneMs": result.verb_ms(side, read, "alone"),
            "amongMs": result.verb_ms(side, read, "among"),
            "ratio": result.ratio(side, read),
        }
        if side == "browser":
            one["bareAloneMs"] = result.bare_ms(read, "alone")
            one["bareAmongMs"] = result.bare_ms(read, "among")
            one["ofBare"] = result.of_bare(read)
        reads[read] = {name: round(value, _DIGITS) for name, value in one.items()}
    return {
        "reads": reads,
        "highestRatio": round(result.highest_ratio([side]), _DIGITS),
    }


def _writes(result: ScopedResult) -> dict[str, float]:
    verb, bare = result.records_per_second
    return {
        "recordBatchPerSecond": round(verb, 1),
        "barePerSecond": round(bare, 1),
        "ratio": round(result.write_ratio, _DIGITS),
    }


def _round(one: ReadRound) -> dict[str, Any]:
    def short(times: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        return {
            read: {where: round(ms, _DIGITS) for where, ms in by.items()}
            for read, by in times.items()
        }

    return {"verb": short(one.verb), "bare": short(one.bare)}
