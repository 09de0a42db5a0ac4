"""`bright sim`: histories of extensions and Bright by their seeds, faults included."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from extension_harness.errors import HarnessError
from extension_harness.simulation.campaign import Tally, run_campaign
from extension_harness.simulation.errors import FolderUnusableError
from extension_harness.simulation.history import Outcome, replay
from extension_harness.simulation.plants import planted
from extension_harness.simulation.schedule_file import read, written
from extension_harness.simulation.shrinking import shrunk

OUT = Path("var/simulation")
USAGE = 2
"""Exit status where the command itself is wrong."""
_MOST_SHOWN = 3


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bright sim`; its exit status is 0 only if every promise was kept."""
    parser = subparsers.add_parser(
        "sim",
        help="whole histories of extensions and Bright, simulated by seeds",
        description=(
            "Runs models of the extension against Bright's own code over a simulated "
            "network, clock and disk, with faults, and checks the promises after every "
            "step. A history that breaks one is made short and written into a file."
        ),
    )
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--histories", type=_count, default=1_000, metavar="K")
    parser.add_argument("--processes", type=_count, metavar="P")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="play one history again, in words"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where failures go")
    parser.add_argument(
        "--plant",
        default="",
        metavar="BUG",
        help="a bug to plant, that must be found (ack_before_commit, say)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it.

    Gives 0 where all promises were kept, 1 where not, 2 where the command is wrong, 130
    if ended.
    """
    console = Console(stderr=arguments.json)
    try:
        planted(arguments.plant)
        if arguments.replay is not None:
            return _replay(arguments.replay, console)
        _make_folder(arguments.out)
        return _campaign(arguments, console)
    except HarnessError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return USAGE
    except KeyboardInterrupt:
        return 130


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give a number of at least 1")
    return number


def _make_folder(path: Path) -> None:
    """Make it before a campaign whose failures would then have no place."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderUnusableError(path, error) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise FolderUnusableError(path, PermissionError("nothing may be written there"))


def _replay(path: Path, console: Console) -> int:
    saved = read(path)
    outcome = replay(
        saved.scenario,
        saved.schedule,
        planted(saved.plant),
        tell=lambda line: console.print(line, markup=False, soft_wrap=True),
    )
    _tell_end(outcome, console)
    return 0 if outcome.violation is None else 1


def _campaign(arguments: argparse.Namespace, console: Console) -> int:
    with console.status("…") as status:
        tally = run_campaign(
            arguments.seed,
            arguments.histories,
            plant=arguments.plant,
            processes=arguments.processes,
            first_only=bool(arguments.plant),
            progress=lambda so_far: status.update(_in_short(so_far)),
        )
        paths = [
            _kept(failure, arguments, console)
            for failure in tally.failures[:_MOST_SHOWN]
        ]
    if arguments.json:
        print(json.dumps(_as_json(tally, paths)))
    else:
        console.print(_in_short(tally), markup=False)
        faults = ", ".join(f"{n} {kind}" for kind, n in sorted(tally.faults.items()))
        console.print(f"faults: {faults}", markup=False)
        console.print(f"digest: {tally.digest}", markup=False)
    return 1 if tally.failed else 0


def _kept(failure: Outcome, arguments: argparse.Namespace, console: Console) -> Path:
    """Make a failing history short, show it, and write it into a file."""
    plant = planted(arguments.plant)
    seed = failure.scenario.seed
    console.print(f"seed {seed}: {failure.violation}", style="red", markup=False)
    short = shrunk(failure, plant)
    console.print(
        f"made short: {len(failure.schedule)} choices became {len(short.schedule)}",
        markup=False,
    )
    replay(
        short.scenario,
        short.schedule,
        plant,
        tell=lambda line: console.print(line, markup=False, soft_wrap=True),
        tells_rest=False,
    )
    _tell_end(short, console)
    path = written(arguments.out / f"seed-{seed}.json", short, arguments.plant)
    written(arguments.out / f"seed-{seed}-whole.json", failure, arguments.plant)
    console.print(f"again: bright sim --replay {path}", markup=False)
    return path


def _tell_end(outcome: Outcome, console: Console) -> None:
    if outcome.violation is None:
        console.print(f"{outcome.steps} steps; every promise was kept", markup=False)
    else:
        console.print(str(outcome.violation), style="red", markup=False)


def _in_short(tally: Tally) -> str:
    return (
        f"{tally.histories} histories, {tally.steps} steps in {tally.seconds:.1f} s"
        f" ({tally.rate:.1f} a second): {tally.failed} broke a promise"
    )


def _as_json(tally: Tally, paths: list[Path]) -> dict[str, Any]:
    return {
        "histories": tally.histories,
        "steps": tally.steps,
        "seconds": round(tally.seconds, 3),
        "perSecond": round(tally.rate, 2),
        "faults": dict(sorted(tally.faults.items())),
        "failed": tally.failed,
        "failures": [
            {
                "seed": failure.scenario.seed,
                "promise": failure.violation.promise if failure.violation else None,
                "what": failure.violation.what if failure.violation else None,
                "file": str(paths[n]) if n < len(paths) else None,
            }
            for n, failure in enumerate(tally.failures)
        ],
        "digest": tally.digest,
    }
