"""`bright page` serves until it is told to stop, and says where it is."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from extension_harness.page.server import SimulatedPage

COMMAND = [sys.executable, "-m", "bright_server", "page", "--conversations", "3"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_addresses_and_ends_cleanly(ending: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, "--messages", "40", "--json"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{said['controlUrl']}/status") as answer:  # noqa: S310 - loopback
            status = json.load(answer)
        with urllib.request.urlopen(said["localUrl"]) as answer:  # noqa: S310 - loopback
            html = answer.read().decode()
        process.send_signal(ending)
        code = process.wait(timeout=20)

    assert (said["event"], said["expected"], said["conversations"]) == (
        "listening",
        40,
        3,
    )
    assert status["expected"] == 40
    assert "__VMFsConv__cache__" in html
    assert f"127.0.0.1:{said['port']}" in said["hostRules"]
    assert code == 0


def test_a_human_reads_where_to_look() -> None:
    with subprocess.Popen(
        [*COMMAND, "--messages", "3"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(7)]
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)

    text = "".join(lines)
    for word in ("3 conversations", "http://127.0.0.1", "--host-resolver-rules"):
        assert word in text


def test_a_page_that_cannot_start_says_why(page: SimulatedPage) -> None:
    asked = [*COMMAND, "--messages", "3", "--port", str(page.port)]
    done = subprocess.run(
        asked, capture_output=True, text=True, timeout=30, check=False
    )

    assert done.returncode == 1
    assert f"cannot listen on ports ({page.port}" in done.stderr
