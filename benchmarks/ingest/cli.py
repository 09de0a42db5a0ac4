"""`bright bench ingest` and `bright bench growth`."""

import argparse
from functools import partial

from benchmarks import options
from benchmarks.errors import BenchError, WorkloadError
from benchmarks.ingest import growth, report, rounds, shared
from benchmarks.ingest.workload import Workload

_SQLITE = "sqlite"


def commands(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add both to the kinds of `bright bench`."""
    _ingest(kinds)
    _growth(kinds)


def _ingest(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser(
        "ingest",
        help="acknowledged messages a second, beside bare engine and WebSocket",
    )
    _common(parser)
    parser.add_argument("--rows", type=int, default=0, help="rows stored beforehand")
    parser.add_argument(
        "--memory",
        action="store_true",
        help="one server and one database for all rounds; memory must stay flat",
    )
    parser.add_argument(
        "--database",
        metavar="ENGINE",
        default=_SQLITE,
        help="sqlite (the default); postgresql or redis: a server of its own, from the"
        " wheel; or an address: postgresql://USER@HOST:PORT/NAME of a server on which"
        " USER may make databases, redis://HOST:PORT/NUMBER of an empty database, which"
        " is emptied again",
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
    options.add_counts(
        parser,
        {
            "connections": (shape.connections, "clients that send at the same time"),
            "batches": (shape.batches, "batches of each client in a round"),
            "messages": (shape.batch_messages, "messages of a batch"),
            "conversations": (shape.conversations, "conversations over all clients"),
            "in-flight": (1, "unanswered batches of a client"),
        },
    )
    options.add_common(parser)
    options.add_at_least(parser)


def _run_ingest(arguments: argparse.Namespace) -> int:
    if arguments.database != _SQLITE:
        return _run_shared(arguments)
    try:
        plan = rounds.IngestPlan(
            workload=_workload(arguments),
            rounds=arguments.rounds,
            rows=arguments.rows,
            in_flight=arguments.in_flight,
            patience_seconds=arguments.wait_for_quiet,
            memory=arguments.memory,
            directory=arguments.directory,
        )
        result = rounds.measure(plan, options.tell)
    except BenchError as error:
        return options.failed(error)
    reaches = options.reaches(arguments, result.ratio_to_sqlite)
    return options.conclude(
        arguments,
        report.ingest_json(plan, result),
        partial(report.print_ingest, plan, result),
        holds=reaches and (result.memory_is_flat or not plan.memory),
    )


def _run_shared(arguments: argparse.Namespace) -> int:
    try:
        plan = shared.SharedPlan(
            database=arguments.database,
            workload=_workload(arguments),
            rounds=arguments.rounds,
            in_flight=arguments.in_flight,
            patience_seconds=arguments.wait_for_quiet,
            directory=arguments.directory,
        )
        if arguments.rows or arguments.memory:
            raise WorkloadError("--rows and --memory are for SQLite")
        result = shared.measure(plan, options.tell)
    except BenchError as error:
        return options.failed(error)
    return options.conclude(
        arguments,
        report.shared_json(plan, result),
        partial(report.print_shared, plan, result),
        holds=options.reaches(arguments, result.ratio_to_bare),
    )


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
        result = growth.measure(plan, options.tell)
    except BenchError as error:
        return options.failed(error)
    return options.conclude(
        arguments,
        report.growth_json(plan, result),
        partial(report.print_growth, plan, result),
        holds=options.reaches(arguments, result.ratio),
    )


def _workload(arguments: argparse.Namespace) -> Workload:
    return Workload(
        connections=arguments.connections,
        batches=arguments.batches,
        batch_messages=arguments.messages,
        conversations=arguments.conversations,
    )
