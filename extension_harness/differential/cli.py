"""`bright differ`: the differential machine for as long as one likes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import extension_harness
from extension_harness.browser import Browser
from extension_harness.differential.browser_side import BrowserSide
from extension_harness.differential.campaign import Report, run_campaign
from extension_harness.differential.known import KnownDifference, read_known
from extension_harness.differential.model_side import ModelSide
from extension_harness.differential.sides import Sides, history_sides, script_sides
from extension_harness.errors import HarnessError
from extension_harness.launch.chromium import find
from extension_harness.plugin import OWN_EXTENSION

OUT = Path("var/differences")
KNOWN = Path(extension_harness.__file__).parents[1] / "e2e" / "known_differences.toml"
"""Beside the package, from whatever folder it is run; an installed one has none."""
USAGE = 2
"""Exit status where the command itself is wrong."""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bright differ`; its exit status is 0 only if both sides agree."""
    parser = subparsers.add_parser(
        "differ",
        help="the IndexedDB model against a real Chromium, by seeds",
        description=(
            "Runs random op-scripts and random histories of the OneTalk store in "
            "Chromium and in the model, and makes every difference short."
        ),
    )
    parser.add_argument("--scripts", type=_count, default=2_000, metavar="N")
    parser.add_argument("--histories", type=_count, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument(
        "--only-script", type=int, metavar="SEED", help="this one alone"
    )
    parser.add_argument("--only-history", type=int, metavar="SEED")
    parser.add_argument(
        "--known",
        type=Path,
        metavar="FILE",
        help="known differences, else the repository's",
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where differences go")
    parser.add_argument("--chromium", help="the browser's executable")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it.

    Gives 0 where all agrees, 1 where not or where it cannot run, 2 where the command is
    wrong (nothing to run, a file that is not there), 130 if ended.
    """
    console = Console()
    seeds = _seeds(arguments)
    wrong = _wrong(arguments, seeds)
    if wrong is not None:
        console.print(wrong, style="red", markup=False, soft_wrap=True)
        return USAGE
    try:
        known = _known(console, arguments)
        with (
            Browser.launch(OWN_EXTENSION, chromium=find(arguments.chromium)) as browser,
            BrowserSide(browser) as side,
        ):
            model = ModelSide()
            sides = (script_sides(side, model), history_sides(side, model))
            stale = [entry.staleness(sides[0]) for entry in known]
            _tell_stale(console, stale)
            agreed = [
                _campaign(console, each, mine, known, arguments.out)
                for each, mine in zip(sides, seeds, strict=True)
            ]
            return 0 if all(agreed) and not any(stale) else 1
    except HarnessError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        return 130


def _count(text: str) -> int:
    """A number of cases, for argparse."""
    count = int(text)
    if count < 0:
        raise argparse.ArgumentTypeError(f"{count} is below 0")
    return count


def _wrong(
    arguments: argparse.Namespace, seeds: tuple[Sequence[int], Sequence[int]]
) -> str | None:
    """What is wrong with the command; None: nothing."""
    if not any(seeds):
        return "there is nothing to run: --scripts and --histories are both 0"
    if arguments.known is not None and not arguments.known.is_file():
        return f"--known {arguments.known}: there is no such file"
    return None


def _known(
    console: Console, arguments: argparse.Namespace
) -> Sequence[KnownDifference]:
    """The named file's entries, else the default's where that is."""
    if arguments.known is None and not KNOWN.is_file():
        console.print(f"no difference is known: no {KNOWN}", markup=False)
        return ()
    return read_known(arguments.known or KNOWN)


def _tell_stale(console: Console, stale: Sequence[str | None]) -> None:
    for line in filter(None, stale):
        console.print(line, markup=False, soft_wrap=True)


def _seeds(arguments: argparse.Namespace) -> tuple[Sequence[int], Sequence[int]]:
    """The seeds of scripts and of histories."""
    script, history, first = (
        arguments.only_script,
        arguments.only_history,
        arguments.seed,
    )
    if script is not None or history is not None:
        return (
            [] if script is None else [script],
            [] if history is None else [history],
        )
    return (
        range(first, first + arguments.scripts),
        range(first, first + arguments.histories),
    )


def _campaign(
    console: Console,
    sides: Sides,
    seeds: Sequence[int],
    known: Sequence[KnownDifference],
    out: Path,
) -> bool:
    """One kind of cases with its progress; whether both sides agree."""
    began = time.monotonic()
    with console.status(f"{sides.kind}: 0 of {len(seeds)}") as status:
        report = run_campaign(
            sides,
            seeds,
            known,
            lambda ran: status.update(f"{sides.kind}: {ran} of {len(seeds)}"),
        )
    _tell(console, sides.kind, report, time.monotonic() - began)
    for finding in report.findings:
        written = finding.write(out)
        console.print(
            f"{finding}\n  written to {written}", markup=False, soft_wrap=True
        )
    return not report.findings


def _tell(console: Console, kind: str, report: Report, seconds: float) -> None:
    each = 1000 * seconds / max(1, report.cases)
    found = f"{len(report.findings)} differences"
    if report.known:
        found += f", known: {report.known}"
    console.print(
        f"{kind}: {report.cases} cases, {seconds:.1f} s ({each:.1f} ms each), {found}",
        markup=False,
    )
