"""`bright load`: model extensions against a real Bright."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from extension_harness.errors import HarnessError
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
            "against its store. The last line is one JSON object."
        ),
    )
    add_arguments(parser)
    parser.set_defaults(run=main)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a plan can be given."""
    plan = Plan()
    parser.add_argument("--extensions", type=int, default=plan.extensions, metavar="N")
    parser.add_argument("--seconds", type=float, default=plan.seconds, metavar="S")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument(
        "--kill-every",
        type=float,
        default=plan.kill_seconds,
        metavar="S",
        help="each worker is killed so often, on average",
    )
    parser.add_argument(
        "--message-every", type=float, default=plan.message_seconds, metavar="S"
    )
    parser.add_argument("--server-kills", type=int, default=plan.server_kills)


def main(arguments: argparse.Namespace) -> int:
    """Run it; 1 where anything disagrees or cannot be run."""
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
            tempfile.TemporaryDirectory(prefix="bright-load-") as folder,
            BrightServer(Path(folder) / "bright.sqlite") as server,
        ):
            report = run(server, plan)
    except HarnessError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps(report.as_dict()), flush=True)
    return 0 if report.holds else 1
