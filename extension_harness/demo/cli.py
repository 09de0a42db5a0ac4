"""`bright demo`: the command line of the demo."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys

from rich.console import Console

from extension_harness.demo.display import addresses, bars, table
from extension_harness.demo.run import summarise, sync
from extension_harness.demo.stage import Plan, Stage
from extension_harness.errors import HarnessError


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bright demo`; its exit status is 0 only if stores and ledger agree."""
    parser = subparsers.add_parser(
        "demo",
        help="server, simulated page and extension together: watch a sync",
        description=(
            "Starts Bright on SQLite, a simulated OneTalk page and the extension in "
            "Chromium, syncs, and holds both stores against the page's own ledger."
        ),
    )
    default = Plan()
    parser.add_argument("--headless", action="store_true", help="show no browser")
    parser.add_argument("--exit-when-synced", action="store_true", help="do not stay")
    parser.add_argument(
        "--json", action="store_true", help="the last line is one JSON object"
    )
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--conversations", type=int, default=default.conversations)
    parser.add_argument("--messages", type=int, default=default.messages)
    parser.add_argument(
        "--live", type=int, default=default.live_messages, help="live messages"
    )
    parser.add_argument("--chromium", help="the browser's executable")
    parser.add_argument(
        "--timeout", type=float, default=900.0, help="seconds for the sync"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; everything but the JSON line goes to stderr."""
    console = Console(stderr=arguments.json)
    plan = Plan(
        seed=arguments.seed,
        conversations=arguments.conversations,
        messages=arguments.messages,
        live_messages=arguments.live,
        headless=arguments.headless or not _has_screen(),
        chromium=arguments.chromium,
    )
    try:
        with Stage(plan) as stage:
            return _play(stage, arguments, console)
    except HarnessError as error:
        console.print(f"[red]{error}[/red]", soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        return 130


def _play(stage: Stage, arguments: argparse.Namespace, console: Console) -> int:
    addresses(stage, console)
    with bars(stage, console) as show:
        seconds = sync(stage, show, arguments.timeout)
    verdict = stage.verdict()
    summary = summarise(stage, verdict, seconds)
    table(summary, verdict, console)
    if arguments.json:
        print(json.dumps(summary.as_dict()), flush=True)
    if not arguments.exit_when_synced:
        addresses(stage, console)
        _stay()
    return 0 if summary.holds else 1


def _stay() -> None:
    """Wait for Ctrl-C or SIGTERM; each ends the demo as a person wants it ended."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pause()
    except KeyboardInterrupt:
        sys.stderr.write("\n")


def _has_screen() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
