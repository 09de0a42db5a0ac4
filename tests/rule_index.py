"""Which test proves which rule: read from the tests, written to `docs/rules.md`.

A test names the rules that it proves in its docstring (Python) or title (JavaScript),
as `OT-31` or `OT-11 to OT-14`. `python -m tests.rule_index` writes the page anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/rules.md"
SPECIFICATION = ROOT / "docs/spec/onetalk-durable-sync.md"
STATED = re.compile(r"^- \*\*(OT-\d\d)\*\* (.*(?:\n  .*)*)", re.MULTILINE)
NAMED = re.compile(r"OT-(\d\d)(?:\s+to\s+OT-(\d\d))?")
TITLED = re.compile(
    r"""^\s*(?:await )?(?:\w+\.)?test\(\s*(["'`])(.*?)\1""", re.MULTILINE | re.DOTALL
)
HEAD = """# Rules and their tests

Written by `python -m tests.rule_index` from the tests themselves; a test fails when it
is out of date, and when a rule has no test. The rules in full:
[spec/onetalk-durable-sync.md](spec/onetalk-durable-sync.md).
"""


def rules() -> dict[str, str]:
    """Every rule of the specification, with its first sentence."""
    found = STATED.findall(SPECIFICATION.read_text(encoding="utf-8"))
    return {rule: _first_sentence(text) for rule, text in found}


def proofs(root: Path = ROOT) -> dict[str, list[str]]:
    """The tests that name each rule, as `path::name`, sorted; every rule is a key."""
    known = rules()
    found: dict[str, set[str]] = {rule: set() for rule in known}
    for name, text in _claims(root):
        for rule in named_in(text, known):
            found[rule].add(name)
    return {rule: sorted(tests) for rule, tests in found.items()}


def named_in(text: str, known: Mapping[str, object]) -> set[str]:
    """The rules that a text names, ranges spelt out."""
    named: set[str] = set()
    for first, last in NAMED.findall(text):
        numbers = range(int(first), int(last or first) + 1)
        named.update(f"OT-{number:02}" for number in numbers)
    return named & known.keys()


def page() -> str:
    """The whole of `docs/rules.md`."""
    lines = [HEAD]
    tests_of = proofs()
    for rule, sentence in rules().items():
        lines.append(f"## {rule}\n{sentence}\n")
        lines.extend(f"- `{test}`" for test in tests_of[rule])
        lines.append("")
    return "\n".join(lines)


def _claims(root: Path) -> Iterator[tuple[str, str]]:
    for folder in ("tests", "e2e"):
        for path in sorted((root / folder).rglob("test_*.py")):
            where = path.relative_to(root).as_posix()
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(
                    node, ast.FunctionDef | ast.AsyncFunctionDef
                ) and node.name.startswith("test_"):
                    yield f"{where}::{node.name}", ast.get_docstring(node) or ""
        for path in sorted((root / folder).rglob("*.test.mjs")):
            where = path.relative_to(root).as_posix()
            for _, title in TITLED.findall(path.read_text(encoding="utf-8")):
                yield f"{where}::{title}", title


def _first_sentence(text: str) -> str:
    flat = " ".join(text.split())
    return re.split(r"(?<=[.;])\s", flat, maxsplit=1)[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
