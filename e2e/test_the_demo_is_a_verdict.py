"""`bright demo` as a script uses it: one JSON line, an exit status, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from extension_harness.waiting import wait_until

BRIGHT = [str(Path(sys.executable).with_name("bright")), "demo", "--headless"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where everything temporary of the demo goes; short, for Chromium's sockets."""
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        yield Path(name)
        left = [path.name for path in Path(name).iterdir()]
        assert left == []


def demo(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BRIGHT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        # As a script's background job inherits it: Ctrl-C's signal is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509 - no threads here yet
    )


def test_the_last_line_is_one_json_object_and_the_status_says_that_it_holds(
    folder: Path,
) -> None:
    # More conversations than messages: some have nothing to be completed with.
    sizes = ["--conversations", "8", "--messages", "5", "--live", "2"]
    with demo(folder, "--exit-when-synced", "--json", *sizes) as running:
        out, _ = running.communicate(timeout=240)

    told = json.loads(out.splitlines()[-1])
    assert running.returncode == 0
    assert (told["missing"], told["duplicates"]) == (0, 0)
    assert told["confirmed"] == told["ledgerMessages"] == 7


def test_what_cannot_be_shown_is_an_error_in_the_json_line(folder: Path) -> None:
    with demo(folder, "--json", "--chromium", "/nonexistent/chromium") as running:
        out, _ = running.communicate(timeout=120)

    assert running.returncode == 1
    assert "/nonexistent/chromium" in json.loads(out.splitlines()[-1])["error"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_however_it_is_ended_it_leaves_no_process_and_no_folder(
    folder: Path, ending: signal.Signals
) -> None:
    with demo(folder, "--json", "--messages", "3000") as running:
        started: list[psutil.Process] = []

        def is_syncing() -> bool:
            started[:] = psutil.Process(running.pid).children(recursive=True)
            try:
                names = {each.name() for each in started}
            except psutil.NoSuchProcess:  # one that has just ended: look again
                return False
            return any("chrom" in name for name in names) and len(started) > 5

        wait_until(is_syncing, 120, "server and browser")
        running.send_signal(ending)
        out, _ = running.communicate(timeout=120)

    assert running.returncode == 130
    assert json.loads(out.splitlines()[-1]) == {"error": "ended before it was done"}
    _, alive = psutil.wait_procs(started, timeout=30)
    assert alive == []
