"""What a run found, as one JSON object or as tables for people."""

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.ingest.figures import Round, median_of
from benchmarks.ingest.growth import GrowthPlan, GrowthResult
from benchmarks.ingest.rounds import IngestPlan, IngestResult
from benchmarks.ingest.shared import POSTGRESQL, REDIS, SharedPlan, SharedResult
from benchmarks.quiet import warn_of_others

_DIGITS = 3
_BARE = {POSTGRESQL: "batched INSERT", REDIS: "pipelined"}


def ingest_json(plan: IngestPlan, result: IngestResult) -> dict[str, Any]:
    """The result of `bright bench ingest`; rates are messages per second."""
    bright = result.bright
    return {
        "ackedPerSecond": _median(bright, "per_second"),
        "p50Ms": _median(bright, "p50_ms"),
        "p99Ms": _median(bright, "p99_ms"),
        "cpuSecondsPer100k": _median(bright, "cpu_seconds_per_100k"),
        "bytesPerMessage": _median(bright, "bytes_per_message"),
        "yardsticks": {
            "sqlite": _median(result.sqlite, "per_second"),
            "websocket": _median(result.websocket, "per_second"),
        },
        "ratioToSqlite": round(result.ratio_to_sqlite, _DIGITS),
        "details": {
            "rounds": plan.rounds,
            "messagesPerRound": plan.workload.sent,
            "newPerRound": plan.workload.new,
            "rowsBefore": plan.rows,
            "inFlight": plan.in_flight,
            "bright": [_round_json(one) for one in bright],
            "sqlite": [_round_json(one) for one in result.sqlite],
            "sqliteNumbering": [_round_json(one) for one in result.numbering],
            "ratioToSqliteNumbering": round(result.ratio_to_numbering, _DIGITS),
            "websocket": [_round_json(one) for one in result.websocket],
        },
        **({"memory": _memory_json(result)} if plan.memory else {}),
    }


def shared_json(plan: SharedPlan, result: SharedResult) -> dict[str, Any]:
    """The result of `bright bench ingest` on a database that is a server."""
    bright = result.bright
    return {
        "database": plan.engine,
        "ackedPerSecond": _median(bright, "per_second"),
        "p50Ms": _median(bright, "p50_ms"),
        "p99Ms": _median(bright, "p99_ms"),
        "cpuSecondsPer100k": _median(bright, "cpu_seconds_per_100k"),
        "engineCpuSecondsPer100k": _median(bright, "engine_cpu_seconds_per_100k"),
        "bytesPerMessage": _median(bright, "bytes_per_message"),
        "logBytesPerMessage": _median(bright, "log_bytes_per_message"),
        "yardsticks": {
            plan.engine: _median(result.bare, "per_second"),
            "websocket": _median(result.websocket, "per_second"),
        },
        "ratioToBare": round(result.ratio_to_bare, _DIGITS),
        "details": {
            "rounds": plan.rounds,
            "messagesPerRound": plan.workload.sent,
            "newPerRound": plan.workload.new,
            "inFlight": plan.in_flight,
            "bright": [_round_json(one) for one in bright],
            "bare": [_round_json(one) for one in result.bare],
            "websocket": [_round_json(one) for one in result.websocket],
        },
    }


def growth_json(plan: GrowthPlan, result: GrowthResult) -> dict[str, Any]:
    """The result of `bright bench growth`; rates are messages per second."""
    return {
        "rowsSmall": plan.small,
        "rowsLarge": plan.large,
        "ackedPerSecondSmall": _median(result.small, "per_second"),
        "ackedPerSecondLarge": _median(result.large, "per_second"),
        "ratio": round(result.ratio, _DIGITS),
        "details": {
            "rounds": plan.rounds,
            "messagesPerRound": plan.workload.sent,
            "small": [_round_json(one) for one in result.small],
            "large": [_round_json(one) for one in result.large],
        },
    }


def print_ingest(plan: IngestPlan, result: IngestResult, console: Console) -> None:
    """The result of `bright bench ingest` as a table."""
    table = _table(f"{plan.workload.sent:,} messages a round, medians of {plan.rounds}")
    rows = {
        "Bright": result.bright,
        "bare SQLite": result.sqlite,
        "the same, finding repeats": result.numbering,
        "bare WebSocket": result.websocket,
    }
    for name, rounds in rows.items():
        table.add_row(name, *_cells(rounds))
    console.print(table)
    _warn(console, result.bright + result.sqlite)
    console.print(
        f"Bright reaches {result.ratio_to_sqlite:.2f} of bare SQLite, and"
        f" {result.ratio_to_numbering:.2f} of one that has to find the repeats."
    )
    if plan.memory:
        used = ", ".join(
            f"{(one.resident_bytes or 0) / 2**20:.0f}" for one in result.bright
        )
        state = "flat" if result.memory_is_flat else "NOT flat"
        console.print(f"Memory after each round, MiB: {used}: {state}.")


def print_shared(plan: SharedPlan, result: SharedResult, console: Console) -> None:
    """The result of `bright bench ingest` on such a database as a table."""
    table = _table(f"{plan.workload.sent:,} messages a round, medians of {plan.rounds}")
    table.add_column("engine's CPU s/100k", justify="right")
    table.add_column("log bytes/message", justify="right")
    for name, rounds in (
        ("Bright", result.bright),
        (f"bare {plan.engine}, {_BARE[plan.engine]}", result.bare),
        ("bare WebSocket", result.websocket),
    ):
        more = ("engine_cpu_seconds_per_100k", "log_bytes_per_message")
        found = [_median(rounds, field) for field in more]
        shown = ["-" if each is None else f"{each:,.2f}" for each in found]
        table.add_row(name, *_cells(rounds), *shown)
    console.print(table)
    _warn(console, result.bright + result.bare)
    console.print(f"Bright reaches {result.ratio_to_bare:.2f} of bare {plan.engine}.")


def print_growth(plan: GrowthPlan, result: GrowthResult, console: Console) -> None:
    """The result of `bright bench growth` as a table."""
    table = _table(f"{plan.workload.sent:,} messages a round, medians of {plan.rounds}")
    table.add_row(f"{plan.small:,} rows stored", *_cells(result.small))
    table.add_row(f"{plan.large:,} rows stored", *_cells(result.large))
    console.print(table)
    _warn(console, result.small + result.large)
    console.print(f"The large history leaves {result.ratio:.2f} of the rate.")


def _warn(console: Console, rounds: tuple[Round, ...]) -> None:
    warn_of_others(console, median_of(rounds, "others_share"))


def _table(title: str) -> Table:
    table = Table(title=title)
    table.add_column("")
    for column in ("messages/s", "p50 ms", "p99 ms", "CPU s/100k", "bytes/message"):
        table.add_column(column, justify="right")
    return table


def _cells(rounds: tuple[Round, ...]) -> list[str]:
    size = _median(rounds, "bytes_per_message")
    return [
        f"{median_of(rounds, 'per_second'):,.0f}",
        f"{median_of(rounds, 'p50_ms'):.1f}",
        f"{median_of(rounds, 'p99_ms'):.1f}",
        f"{median_of(rounds, 'cpu_seconds_per_100k'):.2f}",
        "-" if size is None else f"{size:.0f}",
    ]


def _median(rounds: tuple[Round, ...], field: str) -> float | None:
    if any(getattr(one, field) is None for one in rounds):
        return None
    return round(median_of(rounds, field), _DIGITS)


def _round_json(one: Round) -> dict[str, Any]:
    return {
        "messages": one.messages,
        "seconds": round(one.seconds, 4),
        "perSecond": round(one.per_second, 1),
        "p50Ms": round(one.p50_ms, _DIGITS),
        "p99Ms": round(one.p99_ms, _DIGITS),
        "cpuSeconds": round(one.cpu_seconds, _DIGITS),
        "othersCpuShare": round(one.others_share, _DIGITS),
        "bytesPerMessage": one.bytes_per_message and round(one.bytes_per_message, 1),
        "residentBytes": one.resident_bytes,
        "engineCpuSeconds": one.engine_cpu_seconds,
        "logBytesPerMessage": one.log_bytes_per_message,
    }


def _memory_json(result: IngestResult) -> dict[str, Any]:
    return {
        "residentBytes": [one.resident_bytes for one in result.bright],
        "growth": round(result.memory_growth, _DIGITS),
        "flat": result.memory_is_flat,
    }
