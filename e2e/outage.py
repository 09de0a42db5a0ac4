"""An outage of three minutes, which lasts while other tests run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e.proof import open_and_prove, progress
from e2e.rigs import running_rig
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import Rig
from extension_harness.waiting import wait_until

BACKLOG = 30


@dataclass(frozen=True)
class Outage:
    """A rig whose Bright is down since ``began``, with a backlog and no page open."""

    rig: Rig
    began: float


@pytest.fixture(scope="session")
def outage(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outage]:
    """Bright goes down, messages are observed, the page is closed; settings as shipped.

    Tests that take long ask for it too, so that it lasts while they run; the test of
    the backlog ends it.
    """
    corpus = Corpus.generate(seed=11, conversations=4, messages=40)
    folder = tmp_path_factory.mktemp("outage")
    with running_rig(chromium, folder, corpus) as rig:
        page = open_and_prove(rig)
        rig.server.kill()
        began = time.monotonic()
        chats = corpus.conversations
        for n in range(BACKLOG):
            rig.page.post_live(chats[n % len(chats)].conversation_id)
        wait_until(
            lambda: progress(rig).pending == BACKLOG,
            60,
            "the backlog to be stored",
            every=0.3,
        )
        page.close()
        yield Outage(rig, began)
