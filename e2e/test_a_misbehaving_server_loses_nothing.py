"""A server that misbehaves in each way that clients fell for costs no message.

The misbehaving server is a script. Each test then leads the extension to the real
Bright, whose store has another name, and ends in the usual proof.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from e2e.proof import prove, prove_listed
from e2e.rigs import SHORT, running_rig
from e2e.scripted_bright import Frame, ScriptedBright, Talk, message_ids
from e2e.workers import worker_status
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.records import LedgerMessage
from extension_harness.rig import CANDIDATES, CHECKPOINTS, MESSAGES, Rig
from extension_harness.waiting import wait_until

TIMES = 3
"""How often each close that is come back from at once is tried."""


@pytest.fixture(scope="module")
def synced(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig whose first sync is over and proven."""
    corpus = Corpus.generate(seed=21, conversations=3, messages=30)
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(chromium, folder, corpus, **SHORT) as rig:
        rig.open_page()
        prove_listed(rig)
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


def chat_of(rig: Rig, place: int) -> str:
    return rig.page.corpus.conversations[place].conversation_id


def say(rig: Rig, count: int, place: int = 0) -> list[LedgerMessage]:
    """New messages in one conversation, and wait until each is on disk."""
    chat = chat_of(rig, place)
    posted = [rig.page.post_live(chat, f"said {n}") for n in range(count)]
    wanted = {each.message_id for each in posted}
    wait_until(
        lambda: (
            wanted
            <= {row["messageId"] for row in rig.extension_store().records(MESSAGES)}
        ),
        40,
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


def checkpoint(rig: Rig, chat: str) -> Mapping[str, Any]:
    rows = rig.extension_store().records(CHECKPOINTS)
    return next(row for row in rows if row["conversationId"] == chat)


def claims(server: ScriptedBright, chat: str) -> list[str]:
    """The last messages that were claimed of a conversation."""
    return [
        each.frame["latestMessageId"]
        for each in server.heard("sync.complete")
        if each.frame["conversationId"] == chat
    ]


def test_only_what_an_ack_names_is_confirmed(rig: Rig) -> None:
    """OT-18, OT-43, known bug 29: an ACK of the third says nothing of the others.

    ACKs for what is unknown, again, and in no usable form change nothing. While one is
    missing the conversation is neither claimed nor completed.
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
                first_over.wait(120)
                return talk.reset()
            else:
                again.wait(120)
                talk.answer(frame)
        return None

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        wait_until(
            lambda: statuses(rig, posted)[2] == "confirmed", 40, "the third", every=0.2
        )
        assert statuses(rig, posted) == ["pending_ack", "pending_ack", "confirmed"]
        stands = checkpoint(rig, posted[0].conversation_id)
        assert stands["phase"] == "uploading"
        assert stands["anchorMessageId"] not in ids
        assert claims(server, posted[0].conversation_id) == []
        first_over.set()
        sent_again = server.wait_for(
            "observation.batch",
            lambda frame: ids[2] not in message_ids(frame) and has(frame, ids),
            60,
        )
        resent = message_ids(sent_again.frame)
        assert [each for each in resent if each in ids] == ids[:2]
        again.set()
        wait_until(
            lambda: set(statuses(rig, posted)) == {"confirmed"}, 40, "all", every=0.2
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


def test_only_the_matching_anchor_completes(rig: Rig) -> None:
    """OT-50: until it comes the claim is only sent, and the conversation uploads.

    An anchor of an older message is none, and neither is one of another conversation.
    """
    chat, other = chat_of(rig, 0), chat_of(rig, 1)
    older = checkpoint(rig, chat)["latestMessageId"]
    rig.proxy.refuse()
    rig.proxy.cut()
    [posted] = say(rig, 1)
    may_match = threading.Event()

    def script(talk: Talk) -> None:
        talk.greet()
        held: list[Frame] = []
        while True:
            frame = talk.receive(0.2)
            if frame is None and held and may_match.is_set():
                talk.answer(held.pop())
            elif frame and frame.get("latestMessageId") == posted.message_id:
                talk.answer({**frame, "latestMessageId": older})
                talk.answer({**frame, "conversationId": other})
                held.append(frame)
            elif frame:
                talk.answer(frame)

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        wait_until(lambda: claims(server, chat), 40, "the claim")
        [meanwhile] = say(rig, 1, 1)
        wait_until(lambda: statuses(rig, [meanwhile]) == ["confirmed"], 40, "an ACK")
        # Written down after the claim was sent, and anew on another connection.
        wait_until(lambda: checkpoint(rig, chat)["completionSent"], 40, "its note")
        stands = checkpoint(rig, chat)
        assert stands["phase"] == "uploading"
        assert stands["anchorMessageId"] != posted.message_id
        may_match.set()
        wait_until(
            lambda: checkpoint(rig, chat)["phase"] == "completed", 40, "the anchor"
        )
        assert checkpoint(rig, chat)["anchorMessageId"] == posted.message_id
        rig.proxy.accept()
        go_to(rig, rig.proxy.url)
        prove(rig)


def test_another_connection_is_told_all_that_is_open(rig: Rig) -> None:
    """OT-51: conversations, what has no ACK, and the claim that has no anchor.

    What was confirmed on the connection before is not among it.
    """
    rig.proxy.refuse()
    rig.proxy.cut()
    [claimed], [unanswered] = say(rig, 1), say(rig, 1, 1)
    left = {"observation.batch", "sync.complete"}
    broken: list[int] = []

    def is_left(frame: Frame) -> bool:
        if frame["type"] == "observation.batch":
            return has(frame, [unanswered.message_id])
        return frame.get("latestMessageId") == claimed.message_id

    def script(talk: Talk) -> None:
        talk.greet()
        while (frame := talk.receive()) is not None:
            if broken or not is_left(frame):
                talk.answer(frame)
                continue
            left.discard(frame["type"])
            if not left:
                broken.append(talk.number)
                return talk.reset()
        return None

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        rest_at(rig, server, claimed, unanswered)
        again = [each for each in server.heard() if each.connection > broken[0]]
        chats = {chat_of(rig, place) for place in range(3)}
        wait_until(lambda: discovered(server, broken[0]) >= chats, 40, "all of them")
        sent = [
            each
            for row in again
            if row.kind == "observation.batch"
            for each in message_ids(row.frame)
        ]
        assert unanswered.message_id in sent
        assert claimed.message_id not in sent
        assert claimed.message_id in {
            each.frame["latestMessageId"]
            for each in again
            if each.kind == "sync.complete"
        }
        rig.proxy.accept()
        go_to(rig, rig.proxy.url)
        prove(rig)


def discovered(server: ScriptedBright, after: int) -> set[str]:
    """The conversations that were told on the connections after this one."""
    return {
        row["conversationId"]
        for each in server.heard("conversation.discovered")
        if each.connection > after
        for row in each.frame["conversations"]
    }


def rest_at(rig: Rig, server: ScriptedBright, *posted: LedgerMessage) -> None:
    """Wait until each of these is the proven last message of its conversation."""

    def probe() -> bool:
        return all(
            (stands["phase"], stands["anchorMessageId"])
            == ("completed", each.message_id)
            for each in posted
            for stands in [checkpoint(rig, each.conversation_id)]
        )

    wait_until(probe, 60, f"the anchors after {server.connections} connections")


def test_a_server_that_stops_reading_is_left_within_the_time_out(rig: Rig) -> None:
    """Known bug 15: the socket looks open, nothing is answered; all goes again."""
    stalled, over = threading.Event(), threading.Event()

    def script(talk: Talk) -> None:
        talk.greet()
        while (frame := talk.receive()) is not None:
            if talk.number == 1 and frame["type"] == "observation.batch":
                stalled.set()
                over.wait(120)  # reads no more, and never closes
                return
            talk.answer(frame)

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        assert stalled.wait(60)
        posted = say(rig, 4)
        # Sooner than silence alone would tell it, in two and a half heartbeats.
        wait_until(lambda: server.connections > 1, 30, "another connection")
        wait_until(
            lambda: set(statuses(rig, posted)) == {"confirmed"}, 40, "all", every=0.2
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
        wait_until(lambda: rig.proxy.connections > connections, 30, "another socket")
    finally:
        rig.server.resume()
    prove(rig)


def test_every_close_but_a_refusal_is_come_back_from(rig: Rig) -> None:
    """Known bug 45: 1000, 1001, 1006 and 1012 are no farewell; 44xx is one."""
    quick = [1000, 1001, 1006]
    codes = [*quick * TIMES, 1012, 4409]

    def script(talk: Talk) -> None:
        talk.greet()
        if talk.number > len(codes):
            return talk.serve()
        code = codes[talk.number - 1]
        return talk.reset() if code == 1006 else talk.close(code)

    with scripted(rig, script) as server:
        go_to(rig, server.url)
        wait_until(lambda: server.connections >= len(codes), 90, "them all", every=0.2)
        wait_until(
            lambda: worker_status(rig.browser)["connection"]["state"] == "stopped",
            40,
            "the refusal to be shown",
            every=0.2,
        )
        shown = worker_status(rig.browser)["connection"]
        assert shown["stop"]["closeCode"] == 4409
        assert server.connections == len(codes)
        times = [each.at for each in server.heard("hello")]
        waits = [later - sooner for sooner, later in pairwise(times)]
        # Each a few times, for once the machine itself may have been slow.
        for place, code in enumerate(quick):
            mine = waits[: len(quick) * TIMES][place :: len(quick)]
            assert median(mine) < 5, f"slow to come back after {code}: {mine}"
        assert waits[-1] >= 5, "1012 asks for 5 to 30 s"
        posted = say(rig, 2)
        assert set(statuses(rig, posted)) == {"pending_ack"}
        go_to(rig, rig.proxy.url)
        prove(rig)
