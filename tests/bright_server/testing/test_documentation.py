"""docs/backends.md and the wire contract name what there is, and their example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bright_server.commit.backend import Backend
from bright_server.testing.committer import CommitterContract
from bright_server.testing.crash.matrix import CrashMatrix
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.observation_store import ObservationContract
from bright_server.testing.state_machine import run_against_model
from bright_server.testing.under_test import CanBeUnwritable
from tests.bright_server.processes import bright

ROOT = Path(__file__).parents[3]
BACKENDS = (ROOT / "docs/backends.md").read_text("utf-8")
WRITE_ONE = BACKENDS.partition("## Write one")[2]
COMMAND_LINE = (
    (ROOT / "docs/wire-protocol.md").read_text("utf-8").partition("## Command line")[2]
)


def test_the_example_is_the_one_that_is_run() -> None:
    """MS-40: word by word `test_my_store.py`, which runs beside this."""
    example = (Path(__file__).parent / "test_my_store.py").read_text("utf-8")

    assert f"```python\n{example}```" in WRITE_ONE


@pytest.mark.parametrize(
    "suite",
    [MessageStoreContract, CommitterContract, ObservationContract, CrashMatrix,
     run_against_model],
)  # fmt: skip
def test_every_suite_is_named_where_it_is(suite: type) -> None:
    module = suite.__module__.removeprefix("bright_server.testing.")

    assert f"`{module}.{suite.__name__}`" in WRITE_ONE


def test_every_door_of_a_back_end_is_named() -> None:
    doors = {name for name in vars(Backend) if not name.startswith("_")}

    assert len(doors) == 6
    for name in {*doors, CanBeUnwritable.__name__, "unwritable"}:
        assert f"`{name}`" in WRITE_ONE, name


async def test_every_command_is_in_the_contract() -> None:
    """Each one that `bright --help` lists, and how a database is named."""
    listed = re.findall(r"^    (\w+) ", await bright("--help"), re.MULTILINE)

    assert "migrate" in listed
    for name in listed:
        assert f"`bright {name}" in COMMAND_LINE, name
    for name in ("dump", "copy"):
        assert f"`bright store {name}" in COMMAND_LINE, name
    assert "--database PATH" not in COMMAND_LINE
