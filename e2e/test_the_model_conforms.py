"""The model of the extension and the real one do the same, kills included.

``BRIGHT_TRACES`` says how many recordings are made, ``BRIGHT_TRACE_SEED`` which is the
first, ``BRIGHT_TRACE_OUT`` the folder in which they are kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from e2e.instrumented import instrumented
from e2e.operators import ENVIRONMENT, command
from e2e.rigs import SHORT, running_rig, shorten_alarm
from extension_harness.errors import WaitTimeoutError
from extension_harness.launch.chromium import Chromium
from extension_harness.model.conformance.errors import DivergenceError
from extension_harness.model.conformance.recording import RECORDER, Recording
from extension_harness.model.conformance.replay import replay
from extension_harness.model.conformance.trace import lives_of
from extension_harness.model.steps import Json
from extension_harness.page.corpus import Corpus
from extension_harness.page.messy import DEFAULT_CODES
from extension_harness.page.truth import Conversation
from extension_harness.rig import Rig
from extension_harness.storage import DatabaseDump
from extension_harness.tab import Page
from extension_harness.waiting import wait_until
from storage_schema.onetalk import ALL_STORES

FIRST = int(os.environ.get("BRIGHT_TRACE_SEED", "0"))
TRACES = int(os.environ.get("BRIGHT_TRACES", "2"))
LONGEST_LIFE_SECONDS = 1.0
DONE_SECONDS = 120.0
Recorded = tuple[list[str], dict[str, list[Json]]]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TRACES))
def test_a_recorded_sync_is_lived_again(
    seed: int, chromium: Chromium, tmp_path: Path
) -> None:
    """OT-04, OT-18, OT-30, OT-40 to OT-51, OT-70: the same stores, the same frames."""
    rng = random.Random(seed)  # noqa: S311 - not a secret
    plan = rng.choices(HAPPENINGS, k=rng.randrange(2, 7))
    corpus = Corpus.generate(
        seed,
        conversations=rng.randrange(2, 6),
        messages=rng.randrange(20, 90),
        # Read anew, a message that was edited is another one than Bright has.
        messy=frozenset() if rebuilt in plan else DEFAULT_CODES,
    )
    extension = instrumented(tmp_path, RECORDER.read_text("utf-8"))
    with running_rig(
        chromium,
        tmp_path,
        corpus,
        extension=extension,
        environment=ENVIRONMENT,
        **SHORT,
    ) as rig:
        lines, last = recorded(rig, rng, plan)
    keep(seed, lines)
    turns = replay(lives_of(lines), last)
    assert turns > 100, "a recording of nothing proves nothing"
    if seed == FIRST:
        for spoiled in (without_a_frame, with_another_write, without_a_commit):
            with pytest.raises(DivergenceError):
                replay(lives_of(spoiled(lines)), last)


def recorded(rig: Rig, rng: random.Random, plan: Sequence[Happening]) -> Recorded:
    """A sync with live messages while much happens; its lines, and the last disk."""
    recording = Recording(rig.browser.extension_page())
    rig.configure(
        historyPageSize=rng.choice((4, 10, 50)), maxBatchMessages=rng.choice((3, 200))
    )
    rig.storage.set({"sendingAllowed": [rig.page.corpus.account]})
    shorten_alarm(rig, 1)
    rig.worker.stop()
    page = rig.open_page()
    for happens in plan:
        chat = rng.choice(rig.page.corpus.conversations)
        rig.page.post_live(chat.conversation_id, f"said before {happens.__name__}")
        rig.worker.wait_running()
        # Not for luck: the instant of what happens next is what is random here.
        time.sleep(rng.uniform(0, LONGEST_LIFE_SECONDS))
        happens(rig, page, chat)
    rig.page.post_live(chat.conversation_id, "said at the end")
    rig.wait_until_complete(DONE_SECONDS)
    page.close()
    return wait_until(lambda: at_rest(rig, recording), 60, "a quiet moment")


def killed(rig: Rig, page: Page, chat: Conversation) -> None:
    del page, chat
    rig.worker.stop()


def cut_off(rig: Rig, page: Page, chat: Conversation) -> None:
    del page, chat
    rig.proxy.cut()


def server_killed(rig: Rig, page: Page, chat: Conversation) -> None:
    del page, chat
    rig.server.kill()
    rig.server.start()


def page_reloaded(rig: Rig, page: Page, chat: Conversation) -> None:
    del page, chat
    rig.page.reload()


def chosen(rig: Rig, page: Page, chat: Conversation) -> None:
    """A click draws the conversation's cards and asks for its buyer (OT-90)."""
    del rig
    with contextlib.suppress(WaitTimeoutError):  # a page that is just reloaded
        page.wait_for(CHOOSE, chat.buyer_id)


def rebuilt(rig: Rig, page: Page, chat: Conversation) -> None:
    """OT-20: from the popup; without a page it is refused."""
    del page
    account = rig.page.corpus.account
    with rig.browser.extension_page() as popup:
        popup.evaluate(REBUILD, account, chat.conversation_id)


def commanded(rig: Rig, page: Page, chat: Conversation) -> None:
    """OT-62: whatever becomes of it."""
    del page
    command(rig, "profile", f"--conversation={chat.conversation_id}", deadline=2)
    command(rig, "sync", f"--conversation={chat.conversation_id}", deadline=2)


def sent(rig: Rig, page: Page, chat: Conversation) -> None:
    """OT-62: the echo is an observation as every other."""
    del page
    to = f"--conversation={chat.conversation_id}"
    command(rig, "send", to, "--text=On our way", deadline=3)


CHOOSE = """(aliId) => {
  const row = document.querySelector(`.contact-item-container[data-ali-id="${aliId}"]`);
  row?.click();
  return Boolean(row);
}"""
REBUILD = """(channelAccountId, conversationId) => chrome.runtime.sendMessage(
  {to: "worker", kind: "rebuild", channelAccountId, conversationId})"""
Happening = Callable[[Rig, Page, Conversation], None]
HAPPENINGS: Sequence[Happening] = (
    killed,
    killed,
    killed,
    killed,
    cut_off,
    server_killed,
    page_reloaded,
    chosen,
    chosen,
    rebuilt,
    commanded,
    sent,
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


def without_a_frame(lines: Sequence[str]) -> list[str]:
    """As if the real one had not sent what the model sends."""
    entries = [json.loads(line) for line in lines]
    sent_at = [n for n, entry in enumerate(entries) if entry["kind"] == "send"]
    return [line for n, line in enumerate(lines) if n != sent_at[len(sent_at) // 2]]


def with_another_write(lines: Sequence[str]) -> list[str]:
    """As if the real one had left another record."""
    entries = [json.loads(line) for line in lines]
    wrote = [
        entry
        for entry in entries
        if any(kind == "put" for _, kind, _ in entry.get("writes", ()))
    ]
    put = next(w for w in wrote[len(wrote) // 2]["writes"] if w[1] == "put")
    put[2]["observedAtMs"] = 1
    return [json.dumps(entry) for entry in entries]


def without_a_commit(lines: Sequence[str]) -> list[str]:
    """As if the real one had gone on without its durable write (OT-30)."""
    entries = [json.loads(line) for line in lines]
    begun = [e for e in entries if e.get("verb") == "recordBatch"]
    gone = begun[len(begun) // 2]
    return [
        json.dumps(entry)
        for entry in entries
        if (entry["life"], entry.get("transaction"))
        != (gone["life"], gone["transaction"])
    ]


def keep(seed: int, lines: Sequence[str]) -> None:
    """The recording, for whoever looks into it, where one is wanted."""
    folder = os.environ.get("BRIGHT_TRACE_OUT")
    if folder is None:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / f"{seed}.jsonl").write_text("\n".join(lines), "utf-8")
