"""``python -m storage_schema.script FILE…``: do these vectors come out as written?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final, cast

from storage_schema.errors import FormatError
from storage_schema.script.steps import replay
from storage_schema.tagged.comparing import difference_of

_DEEP: Final = 20_000  # scripts nest arrays by the thousand
FORMAT: Final = "idb-vectors/1"
_BROKEN: Final = "has a script that cannot be run"
_PARTS: Final = {"script": list, "expect": list, "dump": dict}
_NAMES: Final[dict[type, str]] = {list: "list", dict: "JSON object"}


def main(arguments: list[str] | None = None) -> int:
    """Replay the files: 0 if all passes, 1 if not, 2 if a file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m storage_schema.script")
    parser.description = "Replay op-scripts against the model of IndexedDB."
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    sys.setrecursionlimit(max(_DEEP, sys.getrecursionlimit()))
    all_passed, unreadable = True, False
    for path in parser.parse_args(arguments).files:
        try:
            vectors = _vectors_of(path)
        except FormatError as error:
            _say(f"{path}: not a file of vectors ({FORMAT}): {error}")
            unreadable = True
            continue
        all_passed &= _report(path, vectors)
    if unreadable:
        return 2
    return 0 if all_passed else 1


def _vectors_of(path: Path) -> list[dict[str, Any]]:
    """The vectors of a file; raises ``FormatError``, which says what is wrong."""
    try:
        file = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FormatError(f"it cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise FormatError("it nests too deep") from error
    except ValueError as error:
        raise FormatError(f"it is not JSON: {error}") from error
    if not isinstance(file, dict) or not isinstance(file.get("vectors"), list):
        raise FormatError('it is no object with a list "vectors"')
    if file.get("format", FORMAT) != FORMAT:
        raise FormatError(f"its format is {file['format']!r}")
    for number, vector in enumerate(file["vectors"]):
        for part, kind in _PARTS.items():
            if not isinstance(vector, dict) or not isinstance(vector.get(part), kind):
                raise FormatError(
                    f"vector number {number} has no {part!r} that is a {_NAMES[kind]}"
                )
    return cast("list[dict[str, Any]]", file["vectors"])


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _report(path: Path, vectors: list[dict[str, Any]]) -> bool:
    """Print how a file does; whether all passed that have to."""
    plain = [vector for vector in vectors if "quirk" not in vector]
    quirks = [vector for vector in vectors if "quirk" in vector]
    failures = [(v, found) for v in plain if (found := _failure(v)) is not None]
    failed_quirks: list[str] = []
    for vector in quirks:
        found = _failure(vector)
        if found is not None and found.startswith(_BROKEN):
            failures.append((vector, found))
        elif found is not None:
            failed_quirks.append(str(vector.get("id")))
    failed = sum("quirk" not in vector for vector, _ in failures)
    line = f"{path.name}: {len(plain) - failed}/{len(plain)}"
    if quirks:
        broken = len(failures) - failed
        passed = len(quirks) - len(failed_quirks) - broken
        line += f", quirks {passed}/{len(quirks)}"
    if failed_quirks:
        line += f" (as the specification says instead: {', '.join(failed_quirks)})"
    _say(line)
    if failures:
        vector, found = failures[0]
        _say(f"  {vector.get('id')} ({vector.get('title', '')}) {found}")
    return not failures


def _failure(vector: dict[str, Any]) -> str | None:
    """What is different about a vector, or None."""
    try:
        expect, dump = replay(vector["script"])
    except FormatError as error:
        return f"{_BROKEN}: {error}"
    except Exception as error:  # noqa: BLE001 - a broken vector is a failed one
        return f"{_BROKEN}: {type(error).__name__} {error}"
    found = difference_of(vector["expect"], expect, "expect")
    return found or difference_of(vector["dump"], dump, "dump")


if __name__ == "__main__":
    sys.exit(main())
