"""Live messages: announced to open pages, retrievable later, exact in the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from websockets.sync.client import ClientConnection, connect

from extension_harness.page.corpus import DEFAULT_ACCOUNT
from extension_harness.page.errors import (
    CorpusError,
    PageError,
    PageNotReadyError,
    UnknownConversationError,
)
from extension_harness.page.server import SimulatedPage
from extension_harness.page.truth import Fault
from tests.extension_harness.page.client import Client
from tests.extension_harness.page.reader import Anomaly, Asked, read


class OpenedPage:
    """What the page's script is to the channel: takes commands, reports."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def report(self, **report: object) -> None:
        self.socket.send(json.dumps(report))

    def command(self, kind: str = "live") -> dict[str, object]:
        while True:
            command: dict[str, object] = json.loads(self.socket.recv(timeout=5))
            if command["type"] == kind:
                return command


@pytest.fixture
def opened(client: Client) -> Iterator[OpenedPage]:
    address = client.root.replace("http:", "ws:") + "/__simulator__/channel"
    with connect(address) as socket:
        opened = OpenedPage(socket)
        opened.report(type="ready")
        client.page.wait_for_page(timeout=5)
        yield opened


def seen(page: SimulatedPage, command: dict[str, object]) -> object:
    event = command["event"]
    assert isinstance(event, dict)
    conversation = str(command["conversationId"])
    asked = Asked(DEFAULT_ACCOUNT, conversation, frozenset({DEFAULT_ACCOUNT}))
    return read("event", event["payload"], asked)


def test_an_inbound_message_reaches_open_pages_and_the_history(
    page: SimulatedPage, client: Client, opened: OpenedPage
) -> None:
    message = page.post_live(text="hello & <welcome>")
    command = opened.command()

    assert command["event"]["name"] == "BaaSMessageNew"  # type: ignore[index]
    assert seen(page, command) == message.as_dict()
    chat = page.state.conversation(message.conversation_id)
    newest, _ = client.history("http_recent", chat, None, 1)
    assert newest[0]["messageId"] == f"{message.message_id}.PNM"
    assert message in page.ledger.expected()


def test_m42_an_own_message_is_an_echo_of_another_name(
    page: SimulatedPage, opened: OpenedPage
) -> None:
    message = page.post_live(direction="outbound", text="ok")
    command = opened.command()

    assert command["event"]["name"] == "BaaSMessageSendCallback"  # type: ignore[index]
    assert message.direction == "outbound"
    assert seen(page, command) == message.as_dict()


@pytest.mark.parametrize("number", range(2))
def test_both_shapes_of_the_event_bus_are_used(
    number: int, page: SimulatedPage, opened: OpenedPage
) -> None:
    payloads = []
    for _ in range(6):
        message = page.post_live()
        command = opened.command()
        assert seen(page, command) == message.as_dict()
        payloads.append("messageModel" in command["event"]["payload"])  # type: ignore[index]

    assert set(payloads) == {True, False}


def test_a_chance_on_the_event_bus_counts_only_when_the_page_emitted_it(
    page: SimulatedPage, client: Client, opened: OpenedPage
) -> None:
    message = page.post_live()
    command = opened.command()
    assert page.ledger.unserved().count(message) == 1

    opened.report(type="emitted", emission=command["emission"])
    opened.report(type="ready")
    client.control("/status")
    chat = page.state.conversation(message.conversation_id)
    while not page.ledger.was_served(chat.conversation_id, message.message_id):
        client.control("/status")

    assert [chance.surface for chance in page.ledger.observable()] == ["emitter"]


@pytest.mark.parametrize(
    "fault", [fault for fault in Fault if fault is not Fault.FOREIGN]
)
def test_a_payload_that_cannot_be_a_message_is_an_anomaly_of_its_code(
    fault: Fault, page: SimulatedPage, opened: OpenedPage
) -> None:
    before = len(page.ledger.expected())
    anomaly = page.post_invalid(fault)

    assert seen(page, opened.command()) == Anomaly(fault.value)
    assert anomaly.code == fault.value
    names_none = fault in (Fault.NO_CONVERSATION, Fault.NOT_AN_OBJECT)
    assert (anomaly.conversation_id is None) == names_none
    assert len(page.ledger.expected()) == before


def test_m22_a_recall_after_it_was_shown_leaves_both_possible(
    page: SimulatedPage, client: Client, opened: OpenedPage
) -> None:
    message = page.post_live(text="too early")
    chat = page.state.conversation(message.conversation_id)
    client.history("sdk", chat, None, 2)
    opened.command()

    recall = page.recall(message.message_id)
    command = opened.command()

    assert command["event"]["name"] == "paas.message.changed"  # type: ignore[index]
    assert seen(page, command) == recall.as_dict()
    stored = [each.as_dict() for each in page.ledger.expected()]
    assert page.ledger.compare(stored).equal
    assert page.ledger.compare([*stored, message.as_dict()]).equal


def test_m22_a_recall_while_the_message_is_on_its_way_leaves_both_possible(
    page: SimulatedPage, opened: OpenedPage
) -> None:
    message = page.post_live(text="in flight")
    page.recall(message.message_id)

    stored = [each.as_dict() for each in page.ledger.expected()]
    assert page.ledger.compare(stored).equal
    assert page.ledger.compare([*stored, message.as_dict()]).equal


def test_m22_a_recall_before_it_was_shown_leaves_the_recall_alone(
    page: SimulatedPage,
) -> None:
    message = page.post_live(text="never seen")
    recall = page.recall(message.message_id)

    stored = [each.as_dict() for each in page.ledger.expected()]
    assert recall.recall == {"messageId": message.message_id}
    assert page.ledger.compare([*stored, message.as_dict()]).unexpected


def test_m22_a_message_that_vanished_unseen_is_expected_by_nobody(
    page: SimulatedPage,
) -> None:
    message = page.post_live()
    page.vanish(message.message_id)

    assert message not in page.ledger.expected()


def test_m23_an_edit_makes_a_conflict_and_either_version_is_right(
    page: SimulatedPage, opened: OpenedPage
) -> None:
    message = page.post_live(text="ten pieces")
    opened.command()
    page.edit(message.message_id, "twelve pieces")

    changed = seen(page, opened.command())
    rest = [each.as_dict() for each in page.ledger.expected() if each != message]
    assert isinstance(changed, dict)
    assert changed["text"] == "twelve pieces"
    assert page.ledger.compare([*rest, message.as_dict()]).equal
    assert page.ledger.compare([*rest, changed]).equal
    conflict = [
        a for a in page.ledger.anomalies() if a.message_id == message.message_id
    ]
    assert [(a.code, a.certain) for a in conflict] == [("conflict", False)]


def test_m23_the_corpus_edit_is_announced_after_its_first_version_was_shown(
    page: SimulatedPage, client: Client, opened: OpenedPage
) -> None:
    edited = next(row for row in page.corpus.messages() if row.edited_text)
    chat = page.state.conversation(edited.conversation_id)
    client.history("http_recent", chat, edited.position_ms, 1)

    command = opened.command()

    found = seen(page, command)
    assert isinstance(found, dict)
    assert (found["messageId"], found["text"]) == (
        edited.message_id,
        edited.edited_text,
    )


def test_m04_the_same_message_is_announced_again_and_stays_one(
    page: SimulatedPage, opened: OpenedPage
) -> None:
    message = page.post_live()
    count = len(page.ledger.expected())
    page.repeat(message.message_id)

    assert seen(page, opened.command()) == seen(page, opened.command())
    assert len(page.ledger.expected()) == count


@pytest.mark.parametrize("code", ["M10", "M11", "M14", "M18", "M25", "M39"])
def test_a_live_message_can_carry_a_messy_input(
    code: str, page: SimulatedPage, opened: OpenedPage
) -> None:
    message = page.post_live(messy=code)

    assert seen(page, opened.command()) == message.as_dict()


def test_messages_may_share_a_millisecond_or_come_backdated(
    page: SimulatedPage, client: Client
) -> None:
    chat = page.corpus.conversations[1]
    at = page.state.now_ms()
    same = [page.post_live(chat.conversation_id, sent_at_ms=at) for _ in range(30)]
    late = page.post_live(chat.conversation_id, sent_at_ms=at - 3_600_000)

    rows, _ = client.history("http_recent", chat, None, 31)
    ids = [row["messageId"].removesuffix(".PNM") for row in rows]
    assert ids == [m.message_id for m in reversed(same)] + [late.message_id]


def test_m27_the_clock_of_the_page_may_be_off(page: SimulatedPage) -> None:
    page.switches.set(clock_offset_ms=120_000)
    before = page.state.now_ms()

    assert page.post_live().sent_at_ms >= before + 120_000


def test_what_cannot_be_done_is_refused_in_words(page: SimulatedPage) -> None:
    with pytest.raises(UnknownConversationError, match="nobody"):
        page.post_live("nobody")
    with pytest.raises(CorpusError, match="M35"):
        page.post_live(messy="M35")
    with pytest.raises(CorpusError, match="event"):
        page.post_invalid(Fault.FOREIGN)
    with pytest.raises(PageError, match="123"):
        page.recall("123")
    with pytest.raises(PageNotReadyError, match="0 were ready"):
        page.wait_for_page(timeout=0.05)


def test_a_page_that_goes_is_no_longer_counted(
    page: SimulatedPage, opened: OpenedPage
) -> None:
    opened.socket.close()

    page.wait_for_no_page(timeout=5)


def test_commands_reach_every_open_page(
    page: SimulatedPage, opened: OpenedPage
) -> None:
    page.switches.set(zombie=True)
    page.drop_socket()
    page.reload()

    switches = opened.command("switches")["switches"]
    assert switches["zombie"] is True  # type: ignore[index]
    assert opened.command("drop-socket")
    assert opened.command("reload")


def test_m32_a_contact_is_renamed_and_stays_the_same_conversation(
    page: SimulatedPage, client: Client, opened: OpenedPage
) -> None:
    chat = page.corpus.conversations[2]
    page.rename(chat.conversation_id, "Another Name")
    assert opened.command("list")

    rows = client.form("/__simulator__/sdk/conversations", {})["list"]
    named = [row for row in rows if row["name"] == "Another Name"]
    assert [row["aliId"] for row in named] == [chat.buyer_id]
    with pytest.raises(UnknownConversationError):
        page.rename("1-2", "nobody")
