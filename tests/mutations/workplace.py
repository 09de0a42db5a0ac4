"""A copy of the repository in a temporary folder, in which things may be broken.

The working tree is only read. What the copy's tests import, and the processes that they
start, is the copy's own code: the copy stands first on the search path, and that is
checked before anything is judged by it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.mutations.catalogue import ROOT, Mutation, MutationError

BOUND_SECONDS = 240.0
"""For one run of some tests; a run that takes longer hangs."""

Verdict = Literal["passed", "failed", "hung", "broken"]
_FAILED = re.compile(
    r"^(?:FAILED|ERROR) ([^\s\[]+)|^ *not ok \d+ - (.*)$", re.MULTILINE
)
_PASSED, _TESTS_FAILED = 0, 1
"""Exit codes of pytest and of Node's test runner; anything else judges nothing."""


@dataclass(frozen=True)
class Judged:
    """What tests said."""

    verdict: Verdict
    failed: tuple[str, ...]
    """The first tests that failed; each runner stops at its first."""
    output: str


class Workplace:
    """The copy in `folder`, which is made by this and has to be empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound: dict[tuple[str, ...], Judged] = {}
        for name in _tracked():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        if (environment := ROOT / ".venv").is_dir():
            (folder / ".venv").symlink_to(environment)  # Node's place, for some tests
        self._check_that_it_is_used()

    def judge(self, tests: Sequence[str]) -> Judged:
        """Runs tests on the copy as it is, Node's first, to the first that fails."""
        last = Judged("passed", (), "")
        for command in _commands(tests):
            last = self._run(command)
            if last.verdict != "passed":
                break
        return last

    def judge_sound(self, mutation: Mutation) -> Judged:
        """What a mutation's tests say without it; asked once for the same tests."""
        if mutation.tests not in self._sound:
            self._sound[mutation.tests] = self.judge(mutation.tests)
        return self._sound[mutation.tests]

    def judge_broken(self, mutation: Mutation) -> Judged:
        """The same with a mutation in it, which is taken out again.

        Raises:
            MutationError: it does not fit its file, or what it makes is no program.
        """
        path = self._folder / mutation.file
        before = path.read_text("utf-8")
        path.write_text(mutation.applied_to(before), "utf-8")
        try:
            self._check_syntax(mutation)
            return self.judge(mutation.tests)
        finally:
            path.write_text(before, "utf-8")

    def _run(self, command: Sequence[str]) -> Judged:
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=BOUND_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return Judged("hung", (), output)
        failed = tuple(a or b.strip() for a, b in _FAILED.findall(output))
        if process.returncode == _PASSED:
            return Judged("passed", (), output)
        is_judged = process.returncode == _TESTS_FAILED and bool(failed)
        return Judged("failed" if is_judged else "broken", failed[:3], output)

    def _environment(self) -> dict[str, str]:
        own = {"PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"}
        return os.environ | own

    def _check_that_it_is_used(self) -> None:
        packages = (
            "bright_server",
            "extension_harness",
            "storage_schema",
            "migrations",
        )
        program = "import importlib; " + "; ".join(
            f"print(importlib.import_module('{each}').__path__[0])" for each in packages
        )
        told = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self._folder,
            env=self._environment(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\n")[:-1]
        if told != [str(self._folder / each) for each in packages]:
            msg = f"the copy in {self._folder} is not what is imported: {told}"
            raise MutationError(msg)

    def _check_syntax(self, mutation: Mutation) -> None:
        path = self._folder / mutation.file
        if path.suffix == ".py":
            compile(path.read_text("utf-8"), mutation.file, "exec")
        elif path.suffix == ".js":
            asked = [_node(), "--check", str(path)]
            run = subprocess.run(asked, check=False, capture_output=True, text=True)
            if run.returncode != 0:
                msg = f"{mutation.id}: what it makes is no program: {run.stderr}"
                raise MutationError(msg)


def _commands(tests: Sequence[str]) -> list[list[str]]:
    named = [each for each in tests if ".mjs::" in each]
    suites = [each for each in tests if each.endswith(".mjs")]
    others = [each for each in tests if each not in {*named, *suites}]
    # What is broken may go on for ever: the tests are over when they are.
    node = [_node(), "--test", "--test-force-exit", "--test-reporter=tap"]
    commands = []
    if suites:
        commands.append([*node, *suites])
    for suite, title in (each.split("::", 1) for each in named):
        only = f"--test-name-pattern=^{re.escape(title)}$"
        commands.append([*node, only, suite])
    if others:
        options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "timeout=120"]
        commands.append([sys.executable, "-m", "pytest", *options, *others])
    return commands


def _node() -> str:
    beside = shutil.which("node", path=str(Path(sys.executable).parent))
    node = beside or shutil.which("node")
    if node is None:
        msg = "no node: `make setup` puts it beside the environment's Python"
        raise MutationError(msg)
    return node


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - git is a requirement
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [each for each in listed.stdout.split("\0") if each and _is_file(each)]


def _is_file(name: str) -> bool:
    return (ROOT / name).is_file()
