"""The list of deliberate breakages: what each changes, and which tests have to notice.

The list is in the TOML files of this folder, one for each side. A mutation is one exact
text of one file, replaced by another.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LISTS = tuple(sorted(Path(__file__).parent.glob("*.toml")))


class MutationError(Exception):
    """The list names what is not there, or a name is not in the list."""


@dataclass(frozen=True)
class Mutation:
    """One deliberate breakage."""

    id: str
    rules: tuple[str, ...]
    """The rules that it breaks, as `OT-31`, and the troubles of the page, as `P1`,
    that it hides or takes for what they are not (docs/page-trouble.md)."""
    file: str
    """Path under the repository's root."""
    old: str
    new: str
    tests: tuple[str, ...]
    """Files of tests, or `file::name` of one, in JavaScript its title; at least one of
    them must fail."""

    @property
    def needs_browser(self) -> bool:
        """Whether its tests drive a real Chromium."""
        return any(test.startswith("e2e/") for test in self.tests)

    def applied_to(self, text: str) -> str:
        """The file's text with the breakage in it.

        Raises:
            MutationError: the old text does not occur exactly once.
        """
        if (found := text.count(self.old)) != 1:
            msg = f"{self.id}: its old text is {found} times in {self.file}, not once"
            raise MutationError(msg)
        return text.replace(self.old, self.new)


def mutations(lists: Iterable[Path] = LISTS) -> list[Mutation]:
    """Every mutation, in the order of the lists."""
    return [
        _read(entry)
        for path in lists
        for entry in tomllib.loads(path.read_text("utf-8"))["mutation"]
    ]


def chosen(
    ids: Sequence[str], rules: Sequence[str] = (), *, with_browser: bool
) -> list[Mutation]:
    """The mutations of these ids, or all; of these rules, or any.

    Without a browser those that need none.

    Raises:
        MutationError: an id is not in the list, or nothing of it breaks a rule.
    """
    known = {each.id: each for each in mutations()}
    if unknown := sorted(set(ids) - known.keys()):
        msg = f"no such mutation: {', '.join(unknown)}; known are {', '.join(known)}"
        raise MutationError(msg)
    broken = {rule for each in known.values() for rule in each.rules}
    if unbroken := sorted(set(rules) - broken):
        msg = f"no mutation breaks {', '.join(unbroken)}"
        raise MutationError(msg)
    picked = [known[each] for each in ids] if ids else list(known.values())
    if rules:
        picked = [each for each in picked if set(rules) & set(each.rules)]
    return [each for each in picked if with_browser or not each.needs_browser]


def _read(entry: dict[str, Any]) -> Mutation:
    return Mutation(
        id=entry["id"],
        rules=tuple(entry["rules"]),
        file=entry["file"],
        old=entry["old"].strip("\n"),
        new=entry["new"].strip("\n"),
        tests=tuple(entry["tests"]),
    )
