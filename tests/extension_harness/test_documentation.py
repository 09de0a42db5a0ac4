"""docs/harness.md names what there is to use."""

import inspect
from pathlib import Path

import pytest

from extension_harness import plugin
from extension_harness.network.faults import FaultProxy
from extension_harness.tab import Page
from extension_harness.traps import Trap
from extension_harness.worker import STOP_METHODS, Worker

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/harness.md").read_text("utf-8")
EXAMPLE = ROOT / "e2e/test_an_upgrade_as_documented.py"


def public(owner: type) -> list[str]:
    return [
        name
        for name, value in inspect.getmembers(owner)
        if not name.startswith("_") and callable(value)
    ]


@pytest.mark.parametrize("name", public(Trap))
def test_every_instant_is_documented(name: str) -> None:
    if name not in {"steps"}:
        assert f"Trap.{name}(" in TEXT or f".{name}(" in TEXT


@pytest.mark.parametrize("name", public(FaultProxy))
def test_every_fault_is_documented(name: str) -> None:
    if name not in {"close", "clear"}:
        assert f"`{name}(" in TEXT


@pytest.mark.parametrize("name", [*public(Worker), *STOP_METHODS])
def test_every_act_on_a_worker_is_documented(name: str) -> None:
    if name != "target":
        assert f"`{name}" in TEXT or f".{name}(" in TEXT


@pytest.mark.parametrize("name", public(Page))
def test_every_act_on_a_page_is_documented(name: str) -> None:
    assert f"`{name}`" in TEXT


def test_every_fixture_and_option_is_documented() -> None:
    source = inspect.getsource(plugin)
    options = [part.split('"')[0] for part in source.split('addoption(\n        "')[1:]]
    options += [part.split('"')[0] for part in source.split('addoption("')[1:]]
    assert len(options) == 4
    fixtures = source.split("@pytest.fixture")[1:]
    names = [part.split("def ", 1)[1].split("(", 1)[0] for part in fixtures]
    assert len(names) == 13
    for name in [*options, *names]:
        assert f"`{name}" in TEXT, name


def test_the_upgrade_that_is_shown_is_a_test_that_runs() -> None:
    section = TEXT.split("## Testing an upgrade\n", 1)[1]
    shown = section.split("```python\n", 1)[1].split("```", 1)[0]
    _, _, code = EXAMPLE.read_text("utf-8").split('"""', 2)
    assert shown.strip() == code.strip()
