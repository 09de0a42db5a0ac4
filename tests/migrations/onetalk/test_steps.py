"""The steps as a whole: numbered without a gap, with reasons, on both sides alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import migrations.onetalk
from migrations.onetalk import STEPS
from storage_schema.onetalk import names
from storage_schema.onetalk.names import ALL_STORES, DATABASE_NAME, DATABASE_VERSION

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(migrations.onetalk.__file__).parent
JAVASCRIPT = ROOT / "extension_harness" / "extension" / "store" / "steps.js"


def test_each_step_begins_where_the_one_before_ended() -> None:
    ends = [step.to_version for step in STEPS]

    assert ends == list(range(7, DATABASE_VERSION + 1))
    assert [step.from_version for step in STEPS] == [0, *ends[:-1]]


def test_each_step_has_a_file_of_its_own_and_names_its_rule() -> None:
    for step in STEPS:
        module = step.change.__module__
        assert module == f"migrations.onetalk.v{step.to_version:02}"
        assert re.match(r"OT-\d\d", step.why)


def test_the_history_tells_every_step() -> None:
    history = (FOLDER / "HISTORY.md").read_text(encoding="utf-8")
    files = sorted(path.name for path in FOLDER.glob("v*.py"))

    assert [f"v{step.to_version:02}.py" for step in STEPS] == files
    assert all(f"({name})" in history for name in files)


@pytest.mark.parametrize(
    "name",
    [
        "MESSAGES",
        "CANDIDATES",
        "CHECKPOINTS",
        "ANOMALIES",
        "PROFILES",
        "BOOTSTRAPS",
        "CARDS",
        "BUYER_FACTS",
        "DATABASE_NAME",
    ],
)
def test_both_sides_use_the_same_names(name: str) -> None:
    """OT-10: one database, two writings of its schema."""
    text = JAVASCRIPT.read_text(encoding="utf-8")
    value = getattr(names, name)

    assert f'export const {name} = "{value}";' in text


def test_both_sides_have_the_same_numbers() -> None:
    text = JAVASCRIPT.read_text(encoding="utf-8")

    assert f"export const DATABASE_VERSION = {DATABASE_VERSION};" in text
    numbers = [int(each) for each in re.findall(r"\{ to: (\d+), change: ", text)]
    assert numbers == [step.to_version for step in STEPS]


def test_the_document_names_every_store() -> None:
    text = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")

    assert DATABASE_NAME in text
    assert all(f"`{store}`" in text for store in ALL_STORES)
