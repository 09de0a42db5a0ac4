"""What keeps an idle worker, and what it does after a long silence.

No debugger is attached to either worker here. Both waits go on at the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from e2e.proof import prove
from e2e.rigs import SHORT, running_rig
from e2e.scripted_bright import ScriptedBright, Talk, message_ids
from e2e.workers import worker_status
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.waiting import wait_until

WAIT_SECONDS = 45.0
"""Half as long again as Chromium leaves an idle worker."""
SETTINGS = {**SHORT, "ackTimeoutMs": 60_000}
"""No connection ends because the machine is slow."""


def test_frames_keep_the_connection_and_pings_alone_lose_nothing(
    chromium: Chromium, tmp_path: Path
) -> None:
    """OT-61, known bugs 4, 10: pings do not count, frames do; nothing depends on it.

    At the real Bright the same worker keeps the same connection. At a server that only
    pings the next observation arrives all the same, whoever has died meanwhile.
    """
    over = threading.Event()

    def script(talk: Talk) -> None:
        talk.greet(heartbeat_ms=20_000)
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until and not over.is_set():
            frame = talk.receive(1)
            if frame is None:
                talk.ping()
            elif frame["type"] != "heartbeat":
                talk.answer(frame)
        talk.serve()

    kept = Corpus.generate(seed=61, conversations=2, messages=20)
    pinged = Corpus.generate(seed=62, conversations=2, messages=20)
    for name in ("kept", "pinged"):
        (tmp_path / name).mkdir()
    with (
        running_rig(chromium, tmp_path / "kept", kept, **SETTINGS) as at_bright,
        running_rig(chromium, tmp_path / "pinged", pinged, **SETTINGS) as at_script,
        ScriptedBright(script, [pinged.account]) as server,
    ):
        at_bright.open_page()
        at_script.storage.set({"serverUrl": server.url})
        at_script.open_page()
        prove(at_bright)
        boot = worker_status(at_bright.browser)["bootId"]
        connections = at_bright.proxy.connections
        wait_until(lambda: bool(server.heard("observation.batch")), 60, "a sync")
        begun = time.monotonic()
        wait_until(
            lambda: time.monotonic() - begun > WAIT_SECONDS,
            WAIT_SECONDS + 5,
            "an idle worker's life to be over",
            every=1,
        )
        assert worker_status(at_bright.browser)["bootId"] == boot
        assert at_bright.proxy.connections == connections
        posted = at_script.page.post_live(text="after the silence")
        server.wait_for(
            "observation.batch",
            lambda frame: posted.message_id in message_ids(frame),
            60,
        )
        over.set()
        at_script.storage.set({"serverUrl": at_script.proxy.url})
        at_bright.page.post_live(text="and here")
        prove(at_bright)
        prove(at_script)
        bright = at_bright.proxy.seen("keepalive", "to_client")
        assert longest_gap([each.at for each in bright]) < 20
        first = [each.at for each in server.heard() if each.connection == 1]
        assert longest_gap(first) < 25


def longest_gap(times: Sequence[float]) -> float:
    """Seconds between two neighbours; there must be some in a silence this long."""
    assert len(times) > 2
    return max(later - sooner for sooner, later in pairwise(times))
