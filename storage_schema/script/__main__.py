"""``python -m storage_schema.script FILE…``: do these vectors come out as written?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from storage_schema.script.steps import replay
from storage_schema.tagged.comparing import difference_of

_DEEP: Final = 20_000  # scripts nest arrays by the thousand
FORMAT: Final = "idb-vectors/1"


def main(arguments: list[str] | None = None) -> int:
    """Replay the files: 0 if all passes, 1 if not, 2 if a file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m storage_schema.script")
    parser.description = "Replay op-scripts against the model of IndexedDB."
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    sys.setrecursionlimit(max(_DEEP, sys.getrecursionlimit()))
    all_passed, unreadable = True, False
    for path in parser.parse_args(arguments).files:
        try:
            vectors = json.loads(path.read_text(encoding="utf-8"))["vectors"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            _say(f"{path}: not a file of vectors ({FORMAT}): {error!r}")
            unreadable = True
            continue
        all_passed &= _report(path, vectors)
    if unreadable:
        return 2
    return 0 if all_passed else 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _report(path: Path, vectors: list[dict[str, Any]]) -> bool:
    """Print how a file does; whether all passed that have to."""
    plain = [vector for vector in vectors if "quirk" not in vector]
    quirks = [vector for vector in vectors if "quirk" in vector]
    failures = [(v, found) for v in plain if (found := _failure(v)) is not None]
    failed_quirks = [v["id"] for v in quirks if _failure(v) is not None]
    line = f"{path.name}: {len(plain) - len(failures)}/{len(plain)}"
    if quirks:
        line += f", quirks {len(quirks) - len(failed_quirks)}/{len(quirks)}"
    if failed_quirks:
        line += f" (as the specification says instead: {', '.join(failed_quirks)})"
    _say(line)
    if failures:
        vector, found = failures[0]
        _say(f"  {vector['id']} ({vector.get('title', '')}) {found}")
    return not failures


def _failure(vector: dict[str, Any]) -> str | None:
    """What is different about a vector, or None."""
    try:
        expect, dump = replay(vector["script"])
    except Exception as error:  # noqa: BLE001 - a broken vector is a failed one
        return f"broke: {error!r}"
    found = difference_of(vector["expect"], expect, "expect")
    return found or difference_of(vector["dump"], dump, "dump")


if __name__ == "__main__":
    sys.exit(main())
