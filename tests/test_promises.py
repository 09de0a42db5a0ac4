"""A page that names a test names one that exists, and promises are named by tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CITED = re.compile(r"`((?:e2e|tests)/[\w/]+\.py)::(\w+)")
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if CITED.search(page.read_text(encoding="utf-8"))
)


def test_the_promises_name_their_tests() -> None:
    assert ROOT / "docs/promises.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    missing = [
        f"{file}::{name}"
        for file, name in CITED.findall(page.read_text(encoding="utf-8"))
        if not defines(ROOT / file, name)
    ]
    assert missing == []


def defines(file: Path, name: str) -> bool:
    return file.is_file() and bool(
        re.search(
            rf"^\s*(?:async )?def {name}\(", file.read_text("utf-8"), re.MULTILINE
        )
    )
