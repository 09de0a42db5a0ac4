"""`bright bench model`."""

import argparse
from functools import partial

from benchmarks import options
from benchmarks.errors import BenchError
from benchmarks.model import report, rounds
from benchmarks.model.work import ModelWork


def commands(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add it to the kinds of `bright bench`."""
    parser = kinds.add_parser(
        "model", help="the model of IndexedDB, beside fake-indexeddb on Node"
    )
    shape = ModelWork()
    options.add_counts(
        parser,
        {
            "records": (shape.records, "records that are put"),
            "reads": (shape.reads, "range reads"),
        },
    )
    parser.add_argument(
        "--nested", action="store_true", help="records with objects in them"
    )
    options.add_common(parser)
    options.add_at_least(parser, "the ratio of the part in which the model does worst")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        plan = rounds.ModelPlan(
            work=ModelWork(
                records=arguments.records,
                reads=arguments.reads,
                nested=arguments.nested,
            ),
            rounds=arguments.rounds,
            patience_seconds=arguments.wait_for_quiet,
            directory=arguments.directory,
        )
        result = rounds.measure(plan, options.tell)
    except BenchError as error:
        return options.failed(error)
    return options.conclude(
        arguments,
        report.model_json(plan, result),
        partial(report.print_model, plan, result),
        holds=options.reaches(arguments, result.lowest_ratio),
    )
