"""The back end that an address names is loaded alone, or said to be missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bright_server import backends
from bright_server.cli import main

ADDRESSES = ["postgresql://h/db", "redis://h"]
DRIVERS = ("psycopg", "redis", "aiosqlite")


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_driver_that_is_not_installed_names_its_extra(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(_: str) -> object:
        raise ModuleNotFoundError("No module named 'driver'", name="driver")

    monkeypatch.setattr(backends, "import_module", missing)
    extra = address.partition(":")[0]

    for command in ("binding list", "store dump", "migrate", "serve --port=0"):
        assert main([*command.split(), f"--database={address}"]) == 2
        assert f"pip install 'bright-sync[{extra}]'" in capsys.readouterr().err


def test_a_module_of_bright_that_is_missing_is_no_missing_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(backends, "import_module", missing)

    with pytest.raises(ModuleNotFoundError):
        main(["migrate", "--database=redis://h"])


def test_no_driver_is_loaded_before_it_is_needed() -> None:
    """`bright` without an extra starts, and a command line is quick to answer."""
    code = (
        "import sys, bright_server.cli, bright_server.writer.process;"
        f"print([each for each in {DRIVERS!r} if each in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
