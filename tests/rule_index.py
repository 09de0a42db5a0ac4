"""Which test proves which rule: read from the tests, written to `docs/rules.md`.

A test names the rules that it proves in its docstring (Python) or title (JavaScript),
as `OT-31` or `OT-11 to OT-14`. `python -m tests.rule_index` writes the page anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from tests.rule_claims import STORES, claims

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/rules.md"
SPECIFICATIONS = (
    ROOT / "docs/spec/onetalk-durable-sync.md",
    ROOT / "docs/spec/message-store.md",
)
ONE_STEP = ("memory", "sqlite", "postgresql", "redis")
EXCUSED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "MS-23": (("two-step",), "it has no atomic step, and inherits MS-24 for it."),
    "MS-24": (ONE_STEP, "they have the atomic step, and never use the default."),
}
"""Rules that do not apply to some stores, and why. All others apply to all of them."""
STATED = re.compile(r"^- \*\*((?:OT|MS)-\d\d)\*\* (.*(?:\n  .*)*)", re.MULTILINE)
NAMED = re.compile(r"(OT|MS)-(\d\d)(?:\s+to\s+\1-(\d\d))?")
HEAD = """# Rules and their tests

Written by `python -m tests.rule_index` from the tests themselves; a test fails when it
is out of date, when a rule has no test, and when a rule of the message store has no
test on a store that it applies to. The rules in full:
[spec/onetalk-durable-sync.md](spec/onetalk-durable-sync.md) and
[spec/message-store.md](spec/message-store.md). Tests in `bright_server/testing/` are
the contract kit's: they run on every store that is named above them.
"""


def rules() -> dict[str, str]:
    """Every rule of the specifications, with its first sentence."""
    return {
        rule: _first_sentence(text)
        for specification in SPECIFICATIONS
        for rule, text in STATED.findall(specification.read_text(encoding="utf-8"))
    }


def proofs(root: Path = ROOT) -> dict[str, dict[str, frozenset[str]]]:
    """The tests that name each rule, and the stores that each of them runs on.

    Tests are called `path::name`, and are sorted; every rule is a key.
    """
    known = rules()
    found: dict[str, dict[str, frozenset[str]]] = {rule: {} for rule in known}
    for claim in claims(root):
        for rule in named_in(claim.text, known):
            tests = found[rule]
            tests[claim.test] = tests.get(claim.test, frozenset()) | claim.stores
    return {rule: dict(sorted(tests.items())) for rule, tests in found.items()}


def stores_of(rule: str) -> list[str]:
    """The stores that a rule of the message store applies to."""
    excused, _ = EXCUSED.get(rule, ((), ""))
    return [each for each in STORES if each not in excused]


def named_in(text: str, known: Mapping[str, object]) -> set[str]:
    """The rules that a text names, ranges spelt out."""
    named: set[str] = set()
    for kind, first, last in NAMED.findall(text):
        numbers = range(int(first), int(last or first) + 1)
        named.update(f"{kind}-{number:02}" for number in numbers)
    return named & known.keys()


def page() -> str:
    """The whole of `docs/rules.md`."""
    lines = [HEAD]
    tests_of = proofs()
    for rule, sentence in rules().items():
        lines.append(f"## {rule}\n{sentence}\n")
        if rule in EXCUSED:
            stores, reason = EXCUSED[rule]
            lines.append(f"Not asked of {_listed(stores)}: {reason}\n")
        lines.extend(_tests(tests_of[rule]))
    return "\n".join(lines)


def _tests(tests: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield the tests, those of the same stores together, those of none first."""

    def order(test: str) -> list[int]:
        return [n for n, store in enumerate(STORES) if store in tests[test]]

    for stores, together in groupby(sorted(tests, key=order), key=tests.__getitem__):
        if stores:
            yield f"On {_listed(each for each in STORES if each in stores)}:\n"
        yield from (f"- `{test}`" for test in together)
        yield ""


def _listed(stores: Iterator[str] | tuple[str, ...]) -> str:
    *most, last = [STORES[each] for each in stores]
    return f"{', '.join(most)} and {last}" if most else last


def _first_sentence(text: str) -> str:
    flat = " ".join(text.split())
    return re.split(r"(?<=[.;])\s", flat, maxsplit=1)[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
