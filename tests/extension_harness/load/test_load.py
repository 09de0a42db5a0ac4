"""Model extensions against a real server process, killed on both sides."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from extension_harness.load.run import Plan, run
from extension_harness.load.verdict import faults_of, is_at_rest
from extension_harness.model.disk import Disk
from extension_harness.model.truth import Truth
from extension_harness.server import BrightServer


def test_ledgers_equal_the_store_after_kills(tmp_path: Path) -> None:
    """OT-18, OT-30, OT-50, OT-70, OT-81, OT-90: no loss, no double, nothing early."""
    plan = Plan(
        extensions=10,
        seconds=4,
        seed=1,
        kill_seconds=1.5,
        message_seconds=0.3,
        server_kills=1,
        step_kills=0.002,
        rest_seconds=60,
        alarm_seconds=3,
    )
    with BrightServer(tmp_path / "bright.sqlite") as server:
        report = run(server, plan)
    assert report.holds, report.faults
    assert report.kills > 10, "hardly any worker was killed"
    assert report.messages > 200
    assert report.cards > 0
    assert report.facts > 0


def test_the_command_ends_with_its_verdict() -> None:
    """The last line is one JSON object; the status is 0 where all agree."""
    run = subprocess.run(
        [
            *(sys.executable, "-m", "extension_harness.load"),
            *("--extensions", "2", "--seconds", "1", "--server-kills", "0"),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    told = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == 0, told
    assert told["holds"] is True
    assert told["extensions"] == 2


def test_the_verdict_finds_what_is_lost() -> None:
    """A message that is in the truth alone is a fault, and no rest."""
    truth, disk = Truth("seller"), Disk()
    truth.add("c1", 1)
    assert not is_at_rest(truth, disk)
    assert any("lost" in fault for fault in faults_of(truth, disk, {}))


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("--extensions", "0", "at least 1"),
        ("--extensions", "many", "at least 1"),
        ("--seconds", "nan", "seconds above 0"),
        ("--seconds", "inf", "seconds above 0"),
        ("--seconds", "-1", "seconds above 0"),
        ("--kill-every", "0", "seconds above 0"),
        ("--message-every", "0", "seconds above 0"),
        ("--server-kills", "-1", "at least 0"),
    ],
)
def test_a_plan_that_cannot_be_run_is_a_wrong_command(
    option: str, value: str, wanted: str
) -> None:
    """It is refused with the option's name and what it takes, before anything runs."""
    run = subprocess.run(
        [sys.executable, "-m", "extension_harness.load", option, value],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 2
    assert f"argument {option}: '{value}' cannot be used" in run.stderr
    assert wanted in run.stderr


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_server_running(
    ending: signal.Signals, tmp_path: Path
) -> None:
    """The server's folder and its process are gone with the command."""
    load = subprocess.Popen(
        [
            *(sys.executable, "-m", "extension_harness.load"),
            *("--extensions", "2", "--seconds", "60", "--server-kills", "0"),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    server: int | None = None
    try:
        server = _server_below(load.pid, tmp_path)
        load.send_signal(ending)
        load.communicate(timeout=60)
        assert load.returncode == 128 + ending
        assert not _is_alive(server), "the server outlived the command"
        assert not list(tmp_path.iterdir())
    finally:
        load.kill()
        load.wait()
        if server is not None and _is_alive(server):
            os.kill(server, signal.SIGKILL)


def _server_below(pid: int, folder: Path, seconds: float = 60) -> int:
    """The `bright serve` that a process has started, once its database is there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if list(folder.glob("bright-load-*/bright.sqlite")):
            for task in Path(f"/proc/{pid}/task").iterdir():
                for child in (task / "children").read_text().split():
                    line = Path(f"/proc/{child}/cmdline")
                    with contextlib.suppress(OSError):
                        if b"\0serve\0" in line.read_bytes():
                            return int(child)
        time.sleep(0.05)
    pytest.fail("the server did not start")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
