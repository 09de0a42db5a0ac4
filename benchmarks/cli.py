"""The command `bright bench`: what Bright costs, beside the bare parts under it."""

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import growth, ingest, report
from benchmarks.errors import BenchError
from benchmarks.workload import Workload

MISSED = 1
FAILED = 2


def command(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `bench` to the commands of `bright`."""
    parser = subparsers.add_parser(
        "bench",
        help="measure Bright beside yardsticks",
        description="Measure Bright beside yardsticks of the same run. Exit status:"
        " 0 when the run counted right and holds what was asked for, 1 when it does"
        " not hold, 2 when it could not be measured.",
    )
    kinds = parser.add_subparsers(dest="bench", required=True)
    _ingest(kinds)
    _growth(kinds)


def _ingest(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser(
        "ingest",
        help="acknowledged messages a second, beside bare SQLite and bare WebSocket",
    )
    _common(parser)
    parser.add_argument("--rows", type=int, default=0, help="rows stored beforehand")
    parser.add_argument(
        "--memory",
        action="store_true",
        help="one server and one database for all rounds; memory must stay flat",
    )
    parser.set_defaults(run=_run_ingest)


def _growth(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser(
        "growth", help="the rate with much history as a share of that with little"
    )
    _common(parser)
    plan = growth.GrowthPlan()
    parser.add_argument("--small", type=int, default=plan.small, help="rows of little")
    parser.add_argument("--large", type=int, default=plan.large, help="rows of much")
    parser.set_defaults(run=_run_growth)


def _common(parser: argparse.ArgumentParser) -> None:
    shape = Workload()
    options = {
        "connections": (shape.connections, "clients that send at the same time"),
        "batches": (shape.batches, "batches of each client in a round"),
        "messages": (shape.batch_messages, "messages of a batch"),
        "conversations": (shape.conversations, "conversations over all clients"),
        "rounds": (5, "rounds; figures are medians over them"),
        "in-flight": (1, "unanswered batches of a client"),
    }
    for name, (default, what) in options.items():
        parser.add_argument(
            f"--{name}",
            type=_positive,
            default=default,
            help=f"{what} (default {default})",
        )
    parser.add_argument(
        "--at-least",
        type=float,
        metavar="RATIO",
        help="exit with 1 when the ratio is lower",
    )
    parser.add_argument(
        "--wait-for-quiet",
        type=float,
        metavar="SECONDS",
        default=0,
        help="wait this long in all for other programs to leave the CPUs alone",
    )
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path("var/bench"),
        help="where the databases are made; choose a real disk (default var/bench)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _positive(text: str) -> int:
    """Read a count of at least one, or fail as argparse wants it."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _run_ingest(arguments: argparse.Namespace) -> int:
    try:
        plan = ingest.IngestPlan(
            workload=_workload(arguments),
            rounds=arguments.rounds,
            rows=arguments.rows,
            in_flight=arguments.in_flight,
            patience_seconds=arguments.wait_for_quiet,
            memory=arguments.memory,
            directory=arguments.directory,
        )
        result = ingest.measure(plan, _tell)
    except BenchError as error:
        return _failed(error)
    if arguments.json:
        print(json.dumps(report.ingest_json(plan, result)))
    else:
        report.print_ingest(plan, result, Console())
    holds = _reaches(arguments, result.ratio_to_sqlite)
    return 0 if holds and (result.memory_is_flat or not plan.memory) else MISSED


def _run_growth(arguments: argparse.Namespace) -> int:
    try:
        plan = growth.GrowthPlan(
            workload=_workload(arguments),
            rounds=arguments.rounds,
            small=arguments.small,
            large=arguments.large,
            in_flight=arguments.in_flight,
            patience_seconds=arguments.wait_for_quiet,
            directory=arguments.directory,
        )
        result = growth.measure(plan, _tell)
    except BenchError as error:
        return _failed(error)
    if arguments.json:
        print(json.dumps(report.growth_json(plan, result)))
    else:
        report.print_growth(plan, result, Console())
    return 0 if _reaches(arguments, result.ratio) else MISSED


def _workload(arguments: argparse.Namespace) -> Workload:
    return Workload(
        connections=arguments.connections,
        batches=arguments.batches,
        batch_messages=arguments.messages,
        conversations=arguments.conversations,
    )


def _reaches(arguments: argparse.Namespace, ratio: float) -> bool:
    return arguments.at_least is None or ratio >= arguments.at_least


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _failed(error: BenchError) -> int:
    print(f"bright bench: {error}", file=sys.stderr)
    return FAILED
