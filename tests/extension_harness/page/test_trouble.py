"""The switches: each surface on its own, and every trouble of the page."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from extension_harness.page.errors import PageNotRunningError, UnknownSwitchError
from extension_harness.page.server import SimulatedPage
from extension_harness.page.switches import SwitchBoard
from tests.extension_harness.page.client import PATHS, Client
from tests.extension_harness.page.conftest import SMALL
from tests.extension_harness.page.reader import Asked, read

RECENT, LEGACY = PATHS["http_recent"], PATHS["http_legacy"]
UNREAD = "/message/manager/unread.htm"
WEBLITE = "/message/weblitePWA.htm"


@pytest.mark.parametrize(
    ("surface", "path"),
    [("http_recent", RECENT), ("http_legacy", LEGACY), ("unread", UNREAD)],
)
def test_a_surface_that_is_off_is_not_found_and_the_others_go_on(
    surface: str, path: str, client: Client
) -> None:
    client.page.switches.set(**{surface: False})

    assert client.fetch(path, b"params={}")[0] == 404
    others = {RECENT, LEGACY, UNREAD} - {path}
    assert {client.fetch(other, b"params={}")[0] for other in others} == {200}


def test_login_lost_by_redirect_leads_to_the_login_host(client: Client) -> None:
    client.page.switches.set(login="redirect")

    for path in (RECENT, LEGACY, UNREAD, WEBLITE):
        status, location, _ = client.fetch(path)
        assert (status, "login.alibaba.com/newlogin" in location) == (302, True)


def test_login_lost_by_html_answers_200_with_a_login_page(client: Client) -> None:
    client.page.switches.set(login="html")
    status, _, text = client.fetch(RECENT, b"params={}")

    assert (status, "newlogin" in text[:5000]) == (200, True)


def test_login_lost_by_code_and_by_has_login_false(client: Client) -> None:
    client.page.switches.set(login="code")
    assert client.form(RECENT, {})["code"] == "401"

    client.page.switches.set(login="has_login_false")
    data = client.form(UNREAD, {})["data"]
    assert (data["hasLogin"], data["list"]) == (False, [])


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_page_answers_its_status(status: int, client: Client) -> None:
    client.page.switches.set(http_status=status)

    assert {client.fetch(path, b"params={}")[0] for path in (RECENT, LEGACY)} == {
        status
    }


def test_m06_a_stuck_history_repeats_the_same_page_for_ever(client: Client) -> None:
    chat = client.page.corpus.conversations[2]
    client.page.switches.set(cursor_stuck=[chat.conversation_id])
    first, more = client.history("http_recent", chat, None, 5)
    second, still = client.history("http_recent", chat, first[-1]["sendTime"], 5)

    ids = [row["messageId"] for row in first]
    assert ([row["messageId"] for row in second], more, still) == (ids, True, True)


def test_a_captcha_and_a_zombie_answer_without_messages(client: Client) -> None:
    chat = client.page.corpus.conversations[0]
    client.page.switches.set(captcha=True)
    assert "baxia" in client.fetch(RECENT, b"params={}")[2]

    client.page.switches.set(captcha=False, zombie=True)
    assert client.history("http_recent", chat, None) == ([], False)
    assert client.page.ledger.observable() == []


def test_a_slow_page_answers_after_its_delay(client: Client) -> None:
    client.page.switches.set(delay_ms=150)
    began = time.monotonic()
    client.history("http_recent", client.page.corpus.conversations[0], None, 1)

    assert time.monotonic() - began >= 0.15


def test_pages_overshoot_undershoot_duplicate_and_shuffle(client: Client) -> None:
    chat, switches = client.page.corpus.conversations[2], client.page.switches

    def ids() -> list[Any]:
        rows, _ = client.history("http_recent", chat, None, 10)
        return [row["messageId"] for row in rows]

    plain = ids()
    switches.set(page_size_bias=5)
    assert len(ids()) == 15
    switches.set(page_size_bias=-4)
    assert ids() == plain[:6]
    switches.set(page_size_bias=0, duplicate_rows=True)
    assert ids() == [plain[0], *plain]
    switches.set(duplicate_rows=False, shuffle_rows=True)
    assert ids() != plain
    assert sorted(ids()) == sorted(plain)
    switches.set(shuffle_rows=False, omit_every=2)
    assert 0 < len(ids()) < len(plain)
    switches.reset()
    assert ids() == plain


def test_another_account_has_its_own_id_and_none_of_the_conversations(
    client: Client,
) -> None:
    client.page.switches.set(account="2500000000555")
    _, _, html = client.fetch(WEBLITE)

    assert "window.aliId = '2500000000555'" in html
    assert client.form("/__simulator__/sdk/conversations", {})["list"] == []


def test_m32_encrypted_ids_rotate_and_the_person_stays(client: Client) -> None:
    def contacts() -> list[Any]:
        page = client.form("/__simulator__/sdk/conversations", {})
        return list(page["list"])

    before = contacts()
    client.page.switches.set(encrypted_generation=1)
    after = contacts()

    stable = [row["loginId"] for row in before]
    assert [row["loginId"] for row in after] == stable
    for old, new in zip(before, after, strict=True):
        assert old["contact"]["aliIdEncrypt"] != new["contact"]["aliIdEncrypt"]


def test_the_socket_carries_bodies_control_frames_or_nothing(client: Client) -> None:
    chat = client.page.corpus.conversations[0]
    address = client.root.replace("http:", "ws:") + "/"

    def ask(mode: str) -> tuple[dict[str, Any], dict[str, Any]]:
        client.page.switches.set(lwp=mode)
        with connect(address) as socket:
            answers = []
            body = [chat.page_cid, False, 2**53 - 1, 3, False]
            for route in ("/reg", "/r/MessageManager/listUserMessages", "/reg"):
                frame = {"lwp": route, "headers": {"mid": route}, "body": body}
                socket.send(json.dumps(frame))
                answers.append(json.loads(socket.recv(timeout=5)))
        assert [a["headers"]["mid"] for a in answers][1].endswith("listUserMessages")
        return answers[1], answers[2]

    messages, second = ask("bodies")
    models = messages["body"]["userMessageModels"]
    asked = Asked(SMALL.account, chat.conversation_id, frozenset({SMALL.account}))
    found = [read("event", {"messageModel": m["message"]}, asked) for m in models]
    assert len(found) == 3
    facts = [each for each in found if isinstance(each, dict)]
    assert client.page.ledger.compare(facts).matched == len(facts) > 0
    assert second["code"] == 401
    assert ask("control")[0]["body"] == {}
    client.page.switches.set(lwp="off")
    with pytest.raises(InvalidStatus), connect(address):
        pass


def test_a_sent_message_has_no_id_in_its_answer_and_stands_in_the_history(
    client: Client,
) -> None:
    chat = client.page.corpus.conversations[1]
    client.page.switches.set(send_echo="never")
    sent = {"cid": chat.page_cid, "content": "on my way"}

    assert client.form("/__simulator__/send", sent) == {"code": 200}
    newest, _ = client.history("http_recent", chat, None, 1)
    assert (newest[0]["content"], newest[0]["messageSendType"]) == ("on my way", "send")


@pytest.mark.parametrize(
    ("name", "value"),
    [("nothing", 1), ("login", "maybe"), ("zombie", 1), ("delay_ms", True), ("lwp", 3)],
)
def test_a_switch_that_does_not_exist_is_refused_and_nothing_changes(
    name: str, value: object
) -> None:
    board = SwitchBoard()
    before = board.current

    with pytest.raises(UnknownSwitchError, match=name):
        board.set(**{name: value})
    assert board.current == before


def test_other_processes_drive_the_page_over_plain_http(client: Client) -> None:
    posted = client.control("/live", {"text": "from outside", "direction": "inbound"})
    stored = [message.as_dict() for message in client.page.ledger.expected()]

    assert posted["text"] == "from outside"
    assert client.control("/status")["expected"] == 901
    assert client.control("/compare", {"messages": stored})["equal"] is True
    assert len(client.control("/compare", {"messages": stored[1:]})["missing"]) == 1
    assert client.control("/switches", {"delay_ms": 1})["delay_ms"] == 1
    assert client.control("/switches", {"delay_ms": "x"})["status"] == 400
    assert client.control("/command", {"name": "dance"})["status"] == 400
    recalled = {"name": "recall", "messageId": posted["messageId"]}
    assert client.control("/command", recalled)["done"] == "recall"
    ledger = client.control("/ledger")
    assert len(ledger["messages"]) == 901
    assert json.loads(client.page.ledger.as_json()).keys() == ledger.keys() - {"status"}


def test_the_control_address_is_not_on_the_page_s_own_host(page: SimulatedPage) -> None:
    context = ssl.create_default_context(cadata=page.authority_pem.decode())
    root = f"https://localhost:{page.port}"
    with urllib.request.urlopen(f"{root}{WEBLITE}", context=context) as answer:  # noqa: S310 - loopback
        assert "__VMFsConv__cache__" in answer.read().decode()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(  # noqa: S310 - loopback
            f"{root}/__control__/status", context=context
        )


def test_a_page_comes_back_at_the_same_place_with_the_same_certificate() -> None:
    page = SimulatedPage(SMALL)
    with pytest.raises(PageNotRunningError, match="start"):
        _ = page.host_rules
    page.start()
    before = (page.port, page.spki, page.control_url)
    page.stop()
    page.start()

    try:
        assert (page.port, page.spki, page.control_url) == before
        assert Client(page).control("/status")["expected"] == 900
    finally:
        page.stop()


def test_a_port_that_is_taken_is_refused_in_words(page: SimulatedPage) -> None:
    with pytest.raises(PageNotRunningError, match=str(page.port)):
        SimulatedPage(SMALL, port=page.port).start()
