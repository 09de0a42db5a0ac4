"""`bright bench scoped-reads`."""

import argparse
from functools import partial

from benchmarks import options
from benchmarks.errors import BenchError
from benchmarks.scoped import report, rounds
from benchmarks.scoped.work import ScopedWork


def commands(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add it to the kinds of `bright bench`."""
    parser = kinds.add_parser(
        "scoped-reads",
        help="one account's pending, alone and among the records of others",
    )
    shape = ScopedWork()
    options.add_counts(
        parser,
        {
            "pending": (shape.pending, "pending records of the account in each store"),
            "others": (shape.others, "records of other accounts in each store"),
            "repeats": (shape.repeats, "times that a round takes of each read"),
            "batches": (shape.batches, "batches that a round writes"),
            "messages": (shape.batch_messages, "messages of such a batch"),
        },
    )
    options.add_common(parser)
    parser.add_argument(
        "--at-most",
        type=float,
        metavar="RATIO",
        help="exit with 1 when the others make any read more than so many times as"
        " long, in Chromium or in the model",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        plan = rounds.ScopedPlan(
            work=ScopedWork(
                pending=arguments.pending,
                others=arguments.others,
                repeats=arguments.repeats,
                batches=arguments.batches,
                batch_messages=arguments.messages,
            ),
            rounds=arguments.rounds,
            patience_seconds=arguments.wait_for_quiet,
            directory=arguments.directory,
        )
        result = rounds.measure(plan, options.tell)
    except BenchError as error:
        return options.failed(error)
    most = arguments.at_most
    return options.conclude(
        arguments,
        report.scoped_json(plan, result),
        partial(report.print_scoped, plan, result),
        holds=most is None or result.highest_ratio() <= most,
    )
