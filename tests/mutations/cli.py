"""`python -m tests.mutations [ID…]`: breaks the code on purpose, and sees who notices.

Ends with 0 only if every mutation was caught by one of its tests. The working tree
stays as it is: all happens in a copy.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.mutations.catalogue import Mutation, MutationError, chosen
from tests.mutations.workplace import Judged, Workplace

NOT_CAUGHT = 1
USAGE = 2
_OUTCOMES = {
    "passed": "survived",
    "failed": "caught",
    "hung": "hung",
    "broken": "broken",
}
_TAIL = 3_000


@dataclass(frozen=True)
class Result:
    """What became of one mutation."""

    id: str
    rules: tuple[str, ...]
    outcome: str
    """`caught` or `survived`; `hung` or `broken` where the tests gave no judgement;
    `unsound` where they do not even pass without the mutation."""
    by: tuple[str, ...]
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; gives 0 when all are caught, 1 when not, 2 when it cannot be told."""
    options = _parser().parse_args(arguments)
    try:
        picked = chosen(
            options.ids, options.rule, with_browser=not options.without_browser
        )
        with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
            workplace = Workplace(Path(folder).resolve())
            results = [_tried(workplace, each, options.json) for each in picked]
    except MutationError as error:
        print(error, file=sys.stderr)
        return USAGE
    caught = sum(each.outcome == "caught" for each in results)
    if options.json:
        print(json.dumps([asdict(each) for each in results]))
    else:
        print(f"{caught} of {len(results)} caught")
    return 0 if caught == len(results) else NOT_CAUGHT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("ids", nargs="*", metavar="ID", help="these alone; else all")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="RULE",
        help="those alone that break it, as OT-85, or hide it, as P3; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="the results as JSON")
    parser.add_argument(
        "--without-browser",
        action="store_true",
        help="leave out those whose tests drive a real Chromium",
    )
    return parser


def _tried(workplace: Workplace, mutation: Mutation, is_json: bool) -> Result:
    began = time.monotonic()
    # Whoever fails without a mutation proves nothing with one.
    sound = workplace.judge_sound(mutation)
    judged = workplace.judge_broken(mutation) if sound.verdict == "passed" else sound
    result = _result(mutation, judged, time.monotonic() - began)
    if sound.verdict != "passed":
        result = replace(result, outcome="unsound")
    by = "; ".join(result.by)
    out = sys.stderr if is_json else sys.stdout
    print(f"{result.outcome:9}{mutation.id}  {by}", file=out, flush=True)
    if result.outcome not in {"caught", "survived"}:
        print(judged.output[-_TAIL:], file=sys.stderr)
    return result


def _result(mutation: Mutation, judged: Judged, seconds: float) -> Result:
    return Result(
        mutation.id,
        mutation.rules,
        _OUTCOMES[judged.verdict],
        judged.failed,
        round(seconds, 1),
    )
