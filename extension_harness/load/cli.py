"""`bright load`: model extensions against a real Bright."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import FrameType

from extension_harness.errors import HarnessError, ServerError
from extension_harness.load.fleet import Fleet
from extension_harness.load.run import Plan, run
from extension_harness.server import BrightServer


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bright load`; its exit status is 0 only if ledgers and store agree."""
    parser = subparsers.add_parser(
        "load",
        help="many model extensions against a real server, with random kills",
        description=(
            "Starts Bright on an empty database, lets model extensions sync with it "
            "over real sockets while they and it are killed, and holds every ledger "
            "against its store. Several servers share one database of PostgreSQL or "
            "Redis; each connection goes to one of them by chance. The last line is "
            "one JSON object."
        ),
    )
    add_arguments(parser)
    parser.set_defaults(run=main)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a plan can be given."""
    plan = Plan()
    parser.add_argument(
        "--extensions", type=_at_least_one, default=plan.extensions, metavar="N"
    )
    parser.add_argument("--seconds", type=_duration, default=plan.seconds, metavar="S")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument(
        "--kill-every",
        type=_duration,
        default=plan.kill_seconds,
        metavar="S",
        help="each worker is killed so often, on average",
    )
    parser.add_argument(
        "--message-every", type=_duration, default=plan.message_seconds, metavar="S"
    )
    parser.add_argument(
        "--server-kills",
        type=_at_least_none,
        default=plan.server_kills,
        metavar="N",
        help="so often a server is killed and started again",
    )
    parser.add_argument("--servers", type=_at_least_one, default=1, metavar="N")
    parser.add_argument(
        "--database",
        metavar="ADDRESS",
        help="an empty database, as for `bright serve` (default: a new file); its "
        "password comes from BRIGHT_DATABASE_PASSWORD_FILE",
    )


def main(arguments: argparse.Namespace) -> int:
    """Run it; 1 where anything disagrees or cannot be run.

    SIGTERM and a closed terminal end it as Ctrl-C does: nothing is left running.
    """
    plan = Plan(
        extensions=arguments.extensions,
        seconds=arguments.seconds,
        seed=arguments.seed,
        kill_seconds=arguments.kill_every,
        message_seconds=arguments.message_every,
        server_kills=arguments.server_kills,
    )
    try:
        with (
            _ended_in_order(),
            tempfile.TemporaryDirectory(prefix="bright-load-") as folder,
            _servers(arguments, Path(folder), plan.seed) as server,
        ):
            report = run(server, plan)
    except HarnessError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps(report.as_dict()), flush=True)
    return 0 if report.holds else 1


def _servers(
    arguments: argparse.Namespace, folder: Path, seed: int
) -> BrightServer | Fleet:
    database = str(arguments.database or folder / "bright.sqlite")
    if database == "memory:":
        raise ServerError(
            "memory: ends with each kill of its server: give another --database"
        )
    if arguments.servers == 1:
        return BrightServer(database)
    if "://" not in database:
        raise ServerError(
            "a file has one server: give --servers a --database of PostgreSQL or Redis"
        )
    return Fleet(database, arguments.servers, Random(seed))  # noqa: S311 - chance


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Have a signal that ends the process leave every `with` first."""

    def end(number: int, _: FrameType | None) -> None:
        for ending in endings:  # once is enough, and its end is not to be disturbed
            signal.signal(ending, signal.SIG_IGN)
        raise SystemExit(128 + number)

    endings = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(ending, end) for ending in endings]
    try:
        yield
    finally:
        for ending, handler in zip(endings, before, strict=True):
            signal.signal(ending, handler)


def _at_least_one(text: str) -> int:
    return _whole_number(text, 1)


def _at_least_none(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    with contextlib.suppress(ValueError):
        if (number := int(text)) >= least:
            return number
    raise argparse.ArgumentTypeError(
        f"{text!a} cannot be used: give a whole number of at least {least}"
    )


def _duration(text: str) -> float:
    with contextlib.suppress(ValueError):
        seconds = float(text)
        if math.isfinite(seconds) and seconds > 0:
            return seconds
    raise argparse.ArgumentTypeError(
        f"{text!a} cannot be used: give a number of seconds above 0"
    )
