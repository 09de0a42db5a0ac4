"""Model extensions against a real server process, killed on both sides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
