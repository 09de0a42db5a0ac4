"""The extension's pure modules and its package, tested by Node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def _node() -> str:
    beside_python = str(Path(sys.executable).parent)
    node = shutil.which("node", path=beside_python) or shutil.which("node")
    assert node, "no node: `make setup` puts it beside the environment's Python"
    return node


@pytest.mark.parametrize(
    "suite", sorted(FOLDER.glob("*.test.mjs")), ids=lambda p: p.stem
)
def test_suite_holds_in_node(suite: Path) -> None:
    run = subprocess.run(
        [_node(), "--test", str(suite)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
