"""`bright demo`: the command line of the demo."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal

from rich.console import Console

from extension_harness.demo.display import addresses, bars, table
from extension_harness.demo.run import summarise, sync
from extension_harness.demo.stage import Plan, Stage
from extension_harness.errors import HarnessError
from extension_harness.page.errors import PageError


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
    """Run the demo; with --json everything but the JSON line goes to stderr.

    Exit status 1 when it cannot be shown or does not agree, 130 when it was ended; then
    the JSON line is ``{"error": …}``. However it ends, nothing is left running.
    """
    console = Console(stderr=arguments.json)
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        with Stage(_plan(arguments, console)) as stage:
            return _play(stage, arguments, console)
    except (HarnessError, PageError) as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        problem, status = str(error), 1
    except KeyboardInterrupt:
        problem, status = "ended before it was done", 130
    if arguments.json:
        print(json.dumps({"error": problem}), flush=True)
    return status


def _plan(arguments: argparse.Namespace, console: Console) -> Plan:
    headless = arguments.headless or not _has_screen()
    if headless and not arguments.headless:
        console.print("There is no screen here, so the browser runs without a window.")
    return Plan(
        seed=arguments.seed,
        conversations=arguments.conversations,
        messages=arguments.messages,
        live_messages=arguments.live,
        headless=headless,
        chromium=arguments.chromium,
    )


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
    """Wait until the demo is ended by Ctrl-C, SIGTERM or a closed terminal."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


def _has_screen() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
