"""Commands of Bright reach the page once, are proven or not, and are never sent again.

One rig for all of them: what a command did is looked for in the page's own ledger, and
each test ends with everything in every store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from e2e.operators import ENVIRONMENT, Told, asking, command
from e2e.proof import prove
from e2e.rebuilds import assert_rebuilt, by_conversation
from e2e.rigs import SHORT, running_rig, shorten_alarm
from e2e.workers import worker_status
from extension_harness.launch.chromium import Chromium
from extension_harness.network.fault import Seen
from extension_harness.network.proxy_connection import Direction
from extension_harness.page.corpus import Corpus
from extension_harness.rig import CHECKPOINTS, Rig
from extension_harness.tab import Page
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until

SETTINGS: Mapping[str, Any] = {
    **SHORT,
    "sendGapMs": 0,
    "sendMaxPerMinute": 1_000,
    "ackTimeoutMs": 60_000,
}
"""No pace, and no connection that is given up because the machine is slow."""
ALLOW = "#sending input[data-account='{}']"
SEND_NOTHING = """
window.IcbuIM.IMBaaSSDK.IcbuMessageServiceImpl.instance.sendUIMessages =
  async () => ({});
"""
SEND_AGAIN = """
delete window.IcbuIM.IMBaaSSDK.IcbuMessageServiceImpl.instance.sendUIMessages;
"""
ANSWER_NO_LIST = """(() => {
  const dispatch = window.dispatchEvent;
  window.dispatchEvent = (event) =>
    String(event.detail).includes('"conversations":') || dispatch.call(window, event);
})()"""
ANSWER_AGAIN = "delete window.dispatchEvent;"
UPPER_FRAMES = ("command.request", "command.outcome", "conversation.changed", "command")
ROUTE = """(hash) => {
  delete window.__activeConversation__;
  history.replaceState(null, "", location.pathname + location.search + hash);
}"""


@pytest.fixture(scope="module")
def opened(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, Page]]:
    """A rig whose first sync is over, and its page; Bright takes commands."""
    # No message that was edited: read anew it is another one than Bright has.
    corpus = Corpus.generate(93, conversations=3, messages=60, messy=frozenset())
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(
        chromium, folder, corpus, environment=ENVIRONMENT, **SETTINGS
    ) as made:
        page = made.open_page()
        prove(made)
        shorten_alarm(made)
        yield made, page
        prove(made)


@pytest.fixture
def rig(opened: tuple[Rig, Page]) -> Iterator[Rig]:
    """The shared rig, its account allowing to send."""
    made, _ = opened
    made.storage.set({"sendingAllowed": [made.page.corpus.account]})
    yield made
    made.configure(**SETTINGS)


@pytest.fixture
def page(opened: tuple[Rig, Page]) -> Page:
    return opened[1]


def chats(rig: Rig) -> list[str]:
    return sorted({each.conversation_id for each in rig.page.ledger.expected()})


def send(rig: Rig, text: str, *options: str, deadline: float = 40) -> Told:
    into = f"--conversation={chats(rig)[0]}"
    return command(rig, "send", into, f"--text={text}", *options, deadline=deadline)


def sent(rig: Rig, text: str) -> int:
    """How many messages of the page say this."""
    return sum(each.text == text for each in rig.page.ledger.expected())


def commands(rig: Rig) -> int:
    return len(rig.proxy.seen("command"))


def test_without_consent_nothing_is_sent_and_the_options_give_it(rig: Rig) -> None:
    """Off until somebody allows it; allowed, it is sent once, proven and observed."""
    rig.storage.set({"sendingAllowed": []})
    refused = send(rig, "nobody allowed this")
    assert refused == Told("failed", "consent_missing", 1)
    assert sent(rig, "nobody allowed this") == 0

    with rig.browser.extension_page("pages/options.html") as options:
        options.click(ALLOW.format(rig.page.corpus.account))
        options.wait_for(
            "chrome.storage.local.get('sendingAllowed')"
            ".then((stored) => stored.sendingAllowed.length === 1)"
        )
    told = send(rig, "our first word, <b>really</b> & truly")

    assert told == Told("done", None, 0)
    prove(rig)
    [message] = [
        each
        for each in rig.server.dump().messages
        if "our first word" in (each["text"] or "")
    ]
    assert message["direction"] == "outbound"


def test_what_comes_too_soon_is_refused_and_not_kept(rig: Rig) -> None:
    """P15: paced by the settings, over the worker's lives; never queued."""
    assert send(rig, "in time").outcome == "done"
    rig.configure(sendGapMs=60_000)
    rig.worker.restart()
    rig.worker.wake("alarm")
    wait_until(lambda: takes_commands(rig), 40, "the page again", every=0.2)
    assert send(rig, "too soon") == Told("failed", "paced", 1)
    assert (sent(rig, "in time"), sent(rig, "too soon")) == (1, 0)


def test_ot_62_a_connection_cut_after_the_send_is_unknown_and_sends_nothing_again(
    rig: Rig,
) -> None:
    """OT-62: one message, `delivery_unknown`, and the echo is an ordinary fact."""
    before = commands(rig)
    rig.proxy.cut_on("command.result")

    told = send(rig, "cut after it")

    assert told == Told("delivery_unknown", "connection_lost", 1)
    wait_until(lambda: is_online(rig), 40, "the connection", every=0.2)
    prove(rig)
    assert sent(rig, "cut after it") == 1
    assert commands(rig) == before + 1


def test_ot_63_a_worker_killed_in_mid_command_remembers_none(rig: Rig) -> None:
    """OT-63, OT-62: its next life sends nothing, and finds the message by itself."""
    before = commands(rig)
    with (
        ThreadPoolExecutor(1) as pool,
        rig.worker.trap(Trap.before_send("command.result")) as armed,
    ):
        into = f"--conversation={chats(rig)[0]}"
        asked = asking(pool, rig, "send", into, "--text=killed after it")
        armed.wait(60)
        told = asked.result()
    assert told == Told("delivery_unknown", "connection_lost", 1)
    prove(rig)
    assert sent(rig, "killed after it") == 1
    assert commands(rig) == before + 1


def test_what_the_page_never_shows_is_unknown_at_the_deadline(
    rig: Rig, page: Page
) -> None:
    """P12, OT-62: an answer of the page proves nothing."""
    page.evaluate(SEND_NOTHING)
    try:
        told = send(rig, "never shown", deadline=6)
    finally:
        page.evaluate(SEND_AGAIN)
    assert told == Told("delivery_unknown", "not_confirmed", 1)
    assert sent(rig, "never shown") == 0


def test_ot_65_a_route_without_a_conversation_is_said(rig: Rig, page: Page) -> None:
    """OT-65: a definite reason; with one conversation in it the history is read."""
    chat = chats(rig)[1]
    encoded = page.evaluate("encodeURIComponent", chat)
    for route, told in {
        "": Told("failed", "route_missing", 1),
        "#/": Told("failed", "route_without_conversation", 1),
        "#/?cid=1-2&cid=3-4": Told("failed", "route_ambiguous", 1),
        f"#/?cid={encoded}": Told("done", None, 0),
    }.items():
        page.evaluate(ROUTE, route)
        walked = pages_of(rig, chat)
        assert command(rig, "sync") == told, route
    wait_until(lambda: pages_of(rig, chat) > walked, 40, "the walk", every=0.2)
    page.evaluate("window.dispatchEvent(new HashChangeEvent('hashchange'))")
    page.evaluate(ROUTE, "#/?cid=")
    page.evaluate("window.dispatchEvent(new HashChangeEvent('hashchange'))")
    # Each time that the page or a new connection says the route.
    for error in rig.proxy.wait_for("ws.error", where=is_of_a_route):
        assert error.body is not None
        assert error.body["reason"] == "route_ambiguous"
    registered = len(rig.proxy.seen("page.registered"))
    page.evaluate(ROUTE, "")
    page.evaluate("window.dispatchEvent(new HashChangeEvent('hashchange'))")
    rig.proxy.wait_for("page.registered", registered + 1)


def test_a_profile_is_observed_on_demand(rig: Rig) -> None:
    """OT-87: and one that is not there holds up no message."""
    chat = chats(rig)[0]
    assert command(rig, "profile", f"--conversation={chat}").outcome == "done"
    assert command(rig, "profile", "--conversation=1-2") == (
        Told("failed", "profile_missing", 1)
    )


def test_a_profile_command_that_does_not_come_back_holds_up_no_message(
    rig: Rig, page: Page
) -> None:
    """OT-87: the page gives no list; that is said of the profile, and of nothing else.

    A conversation is read anew from its beginning meanwhile.
    """
    chat = chats(rig)[2]
    rig.configure(pageTimeoutMs=25_000)
    page.evaluate(ANSWER_NO_LIST)
    try:
        with ThreadPoolExecutor(1) as pool:
            asked = asking(pool, rig, "profile", f"--conversation={chat}")
            rig.proxy.wait_for("command", commands(rig) + 1)
            claimed = len(rig.proxy.seen("sync.complete"))
            told = command(rig, "sync", f"--conversation={chat}", "--rebuild")
            assert told == Told("done", None, 0)
            posted = rig.page.post_live(chat, "not held up").message_id
            wait_until(
                lambda: posted in claims_from(rig, claimed), 40, "its claim", every=0.1
            )
            assert not asked.done()
            assert asked.result() == Told("failed", "page_timeout", 1)
    finally:
        page.evaluate(ANSWER_AGAIN)
    fault = worker_status(rig.browser)["lastFault"]
    assert fault["code"] == "profile_not_observed"
    prove(rig)


def claims_from(rig: Rig, start: int) -> set[str]:
    """The messages of the claims from this number on."""
    return {
        (frame.body or {})["latestMessageId"]
        for frame in rig.proxy.seen("sync.complete")[start:]
    }


def test_ot_64_the_two_kinds_of_connection_never_mix(rig: Rig) -> None:
    """OT-64: the other role's subprotocol and frames are refused, each with its reason.

    The extension's own connection goes on beside it, and of each type of frame none has
    ever gone both ways.
    """
    address, account = rig.server.url, rig.page.corpus.account
    with (
        pytest.raises(InvalidStatus),
        connect(address, subprotocols=[Subprotocol("bright.mind.v1")]),
    ):
        pass
    connections = rig.proxy.connections
    hello = {
        "type": "hello",
        "requestId": "r",
        "protocolVersion": 1,
        "deviceId": "a device that gives commands",
        "bootId": "b",
        "bindingToken": rig.binding.token,
        "extensionVersion": "1",
        "storeVersion": 10,
    }
    send_it = {"channelAccountId": account, "text": "not by this way"}
    with connect(address, subprotocols=[Subprotocol("bright.extension.v1")]) as other:
        other.send(json.dumps(hello))
        assert json.loads(other.recv(60))["type"] == "welcome"
        for kind in UPPER_FRAMES:
            asked = {"type": kind, "requestId": kind, "commandId": kind}
            arguments = {**send_it, "conversationId": chats(rig)[0]}
            order = {"name": "message.send", "arguments": arguments}
            other.send(json.dumps({**asked, **order}))
            refused = answer_to(other, kind)
            assert refused["code"] == "wrong_role"
        rig.page.post_live(text="beside it")
        prove(rig)
    assert sent(rig, "not by this way") == 0
    assert rig.proxy.connections == connections
    up, down = kinds(rig, "to_server"), kinds(rig, "to_client")
    assert up >= {"hello", "observation.batch", "sync.complete"}
    assert down >= {"welcome", "observation.ack", "anchor.snapshot"}
    assert up & down == set()


def answer_to(link: ClientConnection, request_id: str) -> Mapping[str, Any]:
    """What answers this request; what is told to everybody may come before."""
    while True:
        frame: Mapping[str, Any] = json.loads(link.recv(60))
        if frame.get("requestId") == request_id:
            return frame


def kinds(rig: Rig, way: Direction) -> set[str]:
    """The types of frames that went this way; closing the socket is none."""
    kinds = {frame.kind for frame in rig.proxy.seen(direction=way)}
    return {kind for kind in kinds if not kind.startswith("<")}


def test_ot_20_a_rebuild_reads_one_conversation_again_and_touches_no_other(
    rig: Rig,
) -> None:
    """OT-20, OT-92: by command, again while it is being read; all goes up again."""
    chat = max(chats(rig), key=lambda each: history(rig, each))
    prove(rig)
    before = by_conversation(rig)
    rig.configure(historyPaceMs=3_000, historyPageSize=4)
    for _ in range(2):
        told = command(rig, "sync", f"--conversation={chat}", "--rebuild")
        assert told == Told("done", None, 0)
        wait_until(lambda: pages_of(rig, chat) > 0, 40, "a page", every=0.05)
        assert not is_read(rig, chat)
    rig.configure(**SETTINGS)
    prove(rig)
    assert_rebuilt(rig, chat, before)
    assert command(rig, "sync", "--conversation=1-2", "--rebuild") == (
        Told("failed", "conversation_unknown", 1)
    )


def test_ot_20_the_popup_rebuilds_after_a_question(rig: Rig) -> None:
    """OT-20: asked first, and cancelled it does nothing."""
    chat = chats(rig)[1]
    prove(rig)
    before = by_conversation(rig)
    button = f"#conversations button[data-rebuild='{chat}']"
    with rig.browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(f"document.querySelector({button!r}) !== null")
        popup.evaluate("(selector) => document.querySelector(selector).click()", button)
        popup.click("#rebuild-cancel")
        popup.wait_for("!document.querySelector('#rebuild').open")
        assert by_conversation(rig) == before

        popup.evaluate("(selector) => document.querySelector(selector).click()", button)
        popup.click("#rebuild-confirm")
        popup.wait_for("!document.querySelector('#rebuild').open")
    prove(rig)
    assert_rebuilt(rig, chat, before)


def takes_commands(rig: Rig) -> bool:
    """Whether the worker is connected and knows its page again."""
    return is_online(rig) and bool(worker_status(rig.browser)["pages"])


def is_of_a_route(seen: Seen) -> bool:
    return bool((seen.body or {})["code"] == "route_not_exact")


def is_online(rig: Rig) -> bool:
    return bool(worker_status(rig.browser)["connection"]["state"] == "online")


def checkpoint_of(rig: Rig, chat: str) -> Mapping[str, Any]:
    rows = rig.extension_store().records(CHECKPOINTS)
    return next(each for each in rows if each["conversationId"] == chat)


def pages_of(rig: Rig, chat: str) -> int:
    return int(checkpoint_of(rig, chat)["pages"])


def is_read(rig: Rig, chat: str) -> bool:
    return bool(checkpoint_of(rig, chat)["historyComplete"])


def history(rig: Rig, chat: str) -> int:
    return sum(each.conversation_id == chat for each in rig.page.ledger.expected())
