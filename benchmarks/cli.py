"""The command `bright bench`: what Bright costs, beside the bare parts under it."""

import argparse

from benchmarks.ingest import cli as ingest
from benchmarks.model import cli as model
from benchmarks.scoped import cli as scoped


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
    ingest.commands(kinds)
    model.commands(kinds)
    scoped.commands(kinds)
