"""The model of the extension and the real one do the same, kills included.

``BRIGHT_TRACES`` says how many recordings are made, ``BRIGHT_TRACE_SEED`` which is the
first.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from e2e.instrumented import instrumented
from e2e.rigs import SHORT, running_rig, shorten_alarm
from extension_harness.launch.chromium import Chromium
from extension_harness.model.conformance.recording import RECORDER, Recording
from extension_harness.model.conformance.replay import replay
from extension_harness.model.conformance.trace import lives_of
from extension_harness.model.steps import Json
from extension_harness.page.corpus import Corpus
from extension_harness.rig import Rig
from extension_harness.storage import DatabaseDump
from extension_harness.waiting import wait_until
from storage_schema.onetalk import ALL_STORES

FIRST = int(os.environ.get("BRIGHT_TRACE_SEED", "0"))
TRACES = int(os.environ.get("BRIGHT_TRACES", "2"))
LONGEST_LIFE_SECONDS = 1.0
DONE_SECONDS = 60.0
Recorded = tuple[list[str], dict[str, list[Json]]]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TRACES))
def test_a_recorded_sync_is_lived_again(
    seed: int, chromium: Chromium, tmp_path: Path
) -> None:
    """OT-04, OT-18, OT-30, OT-40 to OT-51, OT-70: the same stores, the same frames."""
    rng = random.Random(seed)  # noqa: S311 - not a secret
    corpus = Corpus.generate(
        seed, conversations=rng.randrange(2, 6), messages=rng.randrange(20, 90)
    )
    extension = instrumented(tmp_path, RECORDER.read_text("utf-8"))
    with running_rig(chromium, tmp_path, corpus, extension=extension, **SHORT) as rig:
        lines, last = recorded(rig, rng)
    try:
        turns = replay(lives_of(lines), last)
    except Exception:
        keep(seed, lines)
        raise
    assert turns > 100, "a recording of nothing proves nothing"


def recorded(rig: Rig, rng: random.Random) -> Recorded:
    """A sync with live messages, kills and a cut line; its lines, and the last disk."""
    recording = Recording(rig.browser)
    rig.configure(
        historyPageSize=rng.choice((4, 10, 50)), maxBatchMessages=rng.choice((3, 200))
    )
    shorten_alarm(rig, 1)
    rig.worker.stop()
    page = rig.open_page()
    for event in range(rng.randrange(2, 7)):
        chat = rng.choice(rig.page.corpus.conversations).conversation_id
        rig.page.post_live(chat, f"said before event {event}")
        rig.worker.wait_running()
        # Not for luck: the instant of what happens next is what is random here.
        time.sleep(rng.uniform(0, LONGEST_LIFE_SECONDS))
        rng.choice(HAPPENINGS)(rig, chat)
    rig.page.post_live(chat, "said at the end")
    rig.wait_until_complete(DONE_SECONDS)
    page.close()
    return wait_until(lambda: at_rest(rig, recording), 30, "a quiet moment")


def killed(rig: Rig, _: str) -> None:
    rig.worker.stop()


def cut_off(rig: Rig, _: str) -> None:
    rig.proxy.cut()


def server_killed(rig: Rig, _: str) -> None:
    rig.server.kill()
    rig.server.start()


def page_reloaded(rig: Rig, _: str) -> None:
    rig.page.reload()


def rebuilt(rig: Rig, conversation: str) -> None:
    """OT-20: from the popup; a worker that is killed or has no page refuses."""
    account = rig.page.corpus.account
    with rig.browser.extension_page() as popup:
        popup.evaluate(REBUILD, account, conversation)


REBUILD = """(channelAccountId, conversationId) => chrome.runtime.sendMessage(
  {to: "worker", kind: "rebuild", channelAccountId, conversationId})"""
HAPPENINGS: Sequence[Callable[[Rig, str], None]] = (
    killed,
    killed,
    killed,
    cut_off,
    server_killed,
    page_reloaded,
    rebuilt,
)


def at_rest(rig: Rig, recording: Recording) -> Recorded | None:
    """All lines and the disk that they lead to; None if more came meanwhile."""
    before = recording.lines()
    dump = rig.extension_store()
    lines = recording.lines()
    if len(lines) > len(before):
        return None
    return lines, {name: records_of(dump, name) for name in ALL_STORES}


def records_of(dump: DatabaseDump, store: str) -> list[Json]:
    return list(dump.records(store))


def keep(seed: int, lines: list[str]) -> None:
    """A recording that does not conform, for whoever looks into it."""
    folder = Path(os.environ.get("BRIGHT_TRACE_OUT", "var/traces"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed}.jsonl").write_text("\n".join(lines), "utf-8")
