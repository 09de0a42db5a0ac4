"""What the commands of `bright bench` share: options, exit statuses, how one ends."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.errors import BenchError

MISSED = 1
FAILED = 2

Tell = Callable[[str], None]
"""Takes a sentence about how far a run is."""


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that every benchmark has."""
    add_counts(parser, {"rounds": (5, "rounds; figures are medians over them")})
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
        help="where the files are made; choose a real disk (default var/bench)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_at_least(parser: argparse.ArgumentParser, what: str = "the ratio") -> None:
    """Add `--at-least`, for a figure that is good when it is high."""
    parser.add_argument(
        "--at-least",
        type=float,
        metavar="RATIO",
        help=f"exit with 1 when {what} is lower",
    )


def add_counts(
    parser: argparse.ArgumentParser, options: dict[str, tuple[int, str]]
) -> None:
    """Add options that are counts of at least one: default and meaning by name."""
    for name, (default, what) in options.items():
        parser.add_argument(
            f"--{name}",
            type=positive,
            default=default,
            help=f"{what} (default {default:,})",
        )


def positive(text: str) -> int:
    """Read a count of at least one, or fail as argparse wants it."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def reaches(arguments: argparse.Namespace, ratio: float) -> bool:
    """Whether a ratio is what `--at-least` asks for, if it asks."""
    return arguments.at_least is None or ratio >= arguments.at_least


def tell(sentence: str) -> None:
    """Say on standard error how far a run is."""
    print(sentence, file=sys.stderr, flush=True)


def conclude(
    arguments: argparse.Namespace,
    as_json: dict[str, Any],
    show: Callable[[Console], None],
    *,
    holds: bool,
) -> int:
    """Print the result as it was asked for; returns the exit status."""
    if arguments.json:
        print(json.dumps(as_json))
    else:
        show(Console())
    return 0 if holds else MISSED


def failed(error: BenchError) -> int:
    """Say why nothing could be measured; returns the exit status."""
    print(f"bright bench: {error}", file=sys.stderr)
    return FAILED
