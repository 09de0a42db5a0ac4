"""A server that misbehaves in each way that clients fell for costs no message.

The misbehaving server is a script. Each test then leads the extension to the real
Bright, whose store has another name, and ends in the usual proof.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from e2e.proof import prove
from e2e.rigs import SHORT, running_rig
from e2e.scripted_bright import Frame, ScriptedBright, Talk, message_ids
from e2e.workers import worker_status
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.records import LedgerMessage
from extension_harness.rig import CANDIDATES, MESSAGES, Rig
from extension_harness.waiting import wait_until


@pytest.fixture(scope="module")
def synced(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig whose first sync is over and proven."""
    corpus = Corpus.generate(seed=21, conversations=3, messages=30)
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(chromium, folder, corpus, **SHORT) as rig:
        rig.open_page()
        prove(rig)
        yield rig


@pytest.fixture
def rig(synced: Rig) -> Iterator[Rig]:
    """The shared rig, which is with the real Bright again at the end."""
    yield synced
    synced.storage.set({"serverUrl": synced.proxy.url})


def scripted(rig: Rig, script: Callable[[Talk], None]) -> ScriptedBright:
    return ScriptedBright(script, [rig.page.corpus.account])


def go_to(rig: Rig, url: str) -> None:
    """Tell the extension another address, as its options page does."""
    rig.storage.set({"serverUrl": url})


def say(rig: Rig, count: int) -> list[LedgerMessage]:
    """New messages in one conversation, and wait until each is on disk."""
    chat = rig.page.corpus.conversations[0].conversation_id
    posted = [rig.page.post_live(chat, f"said {n}") for n in range(count)]
    wanted = {each.message_id for each in posted}
    wait_until(
        lambda: (
            wanted
            <= {row["messageId"] for row in rig.extension_store().records(MESSAGES)}
        ),
        15,
        "the observations to be stored",
        every=0.2,
    )
    return posted


def statuses(rig: Rig, posted: list[LedgerMessage]) -> list[str]:
    """The candidates' states of these messages."""
    found = {
        row["messageId"]: row["status"]
        for row in rig.extension_store().records(CANDIDATES)
    }
    return [found[each.message_id] for each in posted]


def test_only_what_an_ack_names_is_confirmed(rig: Rig) -> None:
    """OT-18, known bug 29: an ACK of the third says nothing of the first and second.

    ACKs for what is unknown, again, and in no usable form change nothing.
    """
    rig.proxy.refuse()
    rig.proxy.cut()
    posted = say(rig, 3)
    ids = [each.message_id for each in posted]
    first_over, again = threading.Event(), threading.Event()

    def script(talk: Talk) -> None:
        talk.greet()
        while (frame := talk.receive()) is not None:
            if frame["type"] != "observation.batch" or not has(frame, ids):
                talk.answer(frame)
            elif not first_over.is_set():
                misread(talk, frame, message_ids(frame).index(ids[2]))
                first_over.wait(20)
                return talk.reset()
            else:
                again.wait(20)
                talk.answer(frame)
        return None

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        wait_until(
            lambda: statuses(rig, posted)[2] == "confirmed", 20, "the third", every=0.2
        )
        assert statuses(rig, posted) == ["pending_ack", "pending_ack", "confirmed"]
        first_over.set()
        sent_again = server.wait_for(
            "observation.batch",
            lambda frame: ids[2] not in message_ids(frame) and has(frame, ids),
            20,
        )
        resent = message_ids(sent_again.frame)
        assert [each for each in resent if each in ids] == ids[:2]
        again.set()
        wait_until(
            lambda: set(statuses(rig, posted)) == {"confirmed"}, 20, "all", every=0.2
        )
        rig.proxy.accept()
        go_to(rig, rig.proxy.url)
        prove(rig)


def has(batch: Frame, ids: list[str]) -> bool:
    return bool(set(ids) & set(message_ids(batch)))


def misread(talk: Talk, batch: Frame, number: int) -> None:
    """Acknowledge one message of a batch, and much that is nothing."""
    for unlike in ({"messageId": "0"}, {"candidateKey": "no such key"}):
        others = [{**each, **unlike} for each in batch["messages"]]
        talk.acknowledge({**batch, "messages": others})
    talk.send("{")
    talk.send({"type": "observation.ack", "requestId": batch["requestId"]})
    talk.send({**ack_of(batch), "results": [{"status": "confirmed"}, None, 7]})
    talk.send({**ack_of(batch), "conversationId": 5, "results": []})
    talk.acknowledge(batch, number)
    talk.acknowledge(batch, number)


def ack_of(batch: Frame) -> Frame:
    names = ("requestId", "channelAccountId", "conversationId")
    return {"type": "observation.ack", **{name: batch[name] for name in names}}


def test_a_server_that_stops_reading_is_left_within_the_time_out(rig: Rig) -> None:
    """Known bug 15: the socket looks open, nothing is answered; all goes again."""
    stalled, over = threading.Event(), threading.Event()

    def script(talk: Talk) -> None:
        talk.greet()
        while (frame := talk.receive()) is not None:
            if talk.number == 1 and frame["type"] == "observation.batch":
                stalled.set()
                over.wait(30)  # reads no more, and never closes
                return
            talk.answer(frame)

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        assert stalled.wait(20)
        posted = say(rig, 4)
        wait_until(lambda: server.connections > 1, 15, "another connection")
        wait_until(
            lambda: set(statuses(rig, posted)) == {"confirmed"}, 20, "all", every=0.2
        )
        over.set()
        go_to(rig, rig.proxy.url)
        prove(rig)


def test_bright_is_frozen_and_thaws(rig: Rig) -> None:
    """Known bug 15: SIGSTOP: the kernel keeps the connections, and nobody is there."""
    connections = rig.proxy.connections
    rig.server.pause()
    try:
        say(rig, 4)
        wait_until(lambda: rig.proxy.connections > connections, 15, "another socket")
    finally:
        rig.server.resume()
    prove(rig)


def test_every_close_but_a_refusal_is_come_back_from(rig: Rig) -> None:
    """Known bug 45: 1000, 1001, 1006 and 1012 are no farewell; 44xx is one."""
    codes = [1000, 1001, 1006, 1012, 4409]

    def script(talk: Talk) -> None:
        talk.greet()
        if talk.number > len(codes):
            return talk.serve()
        code = codes[talk.number - 1]
        return talk.reset() if code == 1006 else talk.close(code)

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        wait_until(
            lambda: server.connections >= len(codes), 50, "five connections", every=0.2
        )
        wait_until(
            lambda: worker_status(rig.browser)["connection"]["state"] == "stopped",
            15,
            "the refusal to be shown",
            every=0.2,
        )
        shown = worker_status(rig.browser)["connection"]
        assert shown["stop"]["closeCode"] == 4409
        assert server.connections == len(codes)
        times = [each.at for each in server.heard("hello")]
        waits = [later - sooner for sooner, later in pairwise(times)]
        assert max(waits[:3]) < 5, f"slow to come back: {waits}"
        assert waits[3] >= 5, "1012 asks for 5 to 30 s"
        posted = say(rig, 2)
        assert set(statuses(rig, posted)) == {"pending_ack"}
        go_to(rig, rig.proxy.url)
        prove(rig)
