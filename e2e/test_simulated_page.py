"""The page in a real browser: late SDK, event bus, list, document, sending."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.document import Timeline, script_json
from extension_harness.page.server import SimulatedPage
from extension_harness.waiting import wait_until

CORPUS = Corpus.generate(7, conversations=40, messages=900)
HISTORY = """code => new Promise(done =>
    IcbuIM.IMBaaSSDK.default.getMessageServiceV2()
        .listMessageWithConversationCodeForHistory({
            conversationCode: code, count: 20, cursor: null, fetchType: 1,
            dataCallback: done }))"""
LISTEN = """() => {
    window.seen = [];
    const { emitter } = IcbuIM.IMBaaSSDK.IcbuEventServiceImpl.instance;
    const emit = emitter.emit;
    emitter.emit = function (name, payload) {
        seen.push([name, payload]);
        return emit.apply(this, arguments);
    };
}"""


SHOWN = """
[...document.querySelectorAll(".contact-item-container")].map(
  ({ dataset: { cid, name } }) => ({ cid, name }),
)
"""


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedPage]:
    with SimulatedPage(CORPUS, timeline=Timeline(noise_every_ms=50)) as page:
        yield page


@pytest.fixture(scope="module")
def tab(
    simulated: SimulatedPage,
    chromium: Chromium,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Page]:
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=chromium.executable,
            args=[
                "--no-sandbox",
                "--disable-quic",
                "--disable-background-networking",
                f"--host-resolver-rules={simulated.host_rules}",
                f"--ignore-certificate-errors-spki-list={simulated.spki}",
            ],
        )
        tab = context.pages[0]
        tab.goto(simulated.url)
        simulated.wait_for_page()
        yield tab
        context.close()


def test_the_page_stands_at_its_real_host_with_the_inline_globals(tab: Page) -> None:
    assert tab.evaluate("location.host") == "onetalk.alibaba.com"
    assert tab.evaluate("window.aliId") == CORPUS.account
    assert 3 <= tab.evaluate("__VMFsConv__cache__.length") <= 6
    assert tab.evaluate("__conversationListFullData__.length") == 40


def test_the_list_is_virtual_and_an_invisible_conversation_is_not_in_it(
    tab: Page,
) -> None:
    rows = tab.locator(".contact-item-container")
    hidden = [row for row in CORPUS.conversations if not row.visible]

    tab.wait_for_function(
        "document.querySelectorAll('.contact-item-container').length >= 10"
    )
    assert rows.count() <= 25
    assert hidden
    assert tab.locator(f'[data-name="{hidden[0].name}"]').count() <= 1


def test_the_sdk_reads_history_by_its_call_back(
    tab: Page, simulated: SimulatedPage
) -> None:
    chat = CORPUS.conversations[0]
    page = tab.evaluate(HISTORY, chat.page_cid)

    assert (len(page["data"]), page["hasMore"]) == (20, True)
    assert "sdk" in {c.surface for c in simulated.ledger.observable()}
    assert (
        tab.evaluate(
            "IcbuIM.IMBaaSSDK.default.getMessageServiceV2().delegateList.length"
        )
        == 0
    ), "the factory hands out an empty shell"
    assert tab.evaluate(
        "IcbuIM.IMBaaSSDK.IcbuMessageServiceImpl.instance.delegateList.length"
    )


def test_m08_the_sdk_nests_its_list_in_turn(tab: Page) -> None:
    shapes = set()
    for _ in range(4):
        page = tab.evaluate(
            """() => IcbuIM.IMBaaSSDK.default.getConversationServiceV2()
                .getConversationListByPagination({ cursor: 2 ** 53 - 1, count: 5 })"""
        )
        shapes.add("" if "list" in page else next(iter(page)))

    assert shapes == {"", "data", "result", "object"}


def test_m41_live_messages_come_with_noise_five_to_one(
    tab: Page, simulated: SimulatedPage
) -> None:
    tab.evaluate(LISTEN)
    posted = [simulated.post_live(text=f"live {n}") for n in range(4)]
    tab.wait_for_function(
        "seen.filter(([name]) => name === 'BaaSMessageNew').length > 3"
    )
    wait_until(
        lambda: all(_emitted(simulated, m.message_id) for m in posted), 40, "the events"
    )

    seen: list[Any] = tab.evaluate("seen")
    messages = [each for each in seen if each[0] == "BaaSMessageNew"]
    payloads = {type(payload).__name__ for _, payload in seen}
    assert len(seen) >= 5 * len(messages)
    assert {"NoneType", "int", "str"} <= payloads


def _emitted(simulated: SimulatedPage, message_id: str) -> bool:
    chances = simulated.ledger.observable()
    return ("emitter", message_id) in {(c.surface, c.message_id) for c in chances}


def test_a_live_message_replaces_the_full_list_and_moves_its_row_up(
    tab: Page, simulated: SimulatedPage
) -> None:
    tab.evaluate("window.oldList = __conversationListFullData__")
    chat = simulated.state.conversations()[5]
    simulated.post_live(chat.conversation_id, text="moves up")
    tab.wait_for_function("oldList !== __conversationListFullData__")

    tab.wait_for_function(
        """([cid, text]) => {
            const first = document.querySelector(".contact-item-container");
            const said = first?.querySelector(".latest-msg").textContent;
            return first?.dataset.cid === cid && said === text;
        }""",
        arg=[chat.page_cid, "moves up"],
    )


def test_a_person_opens_a_conversation_scrolls_up_and_sends(
    tab: Page, simulated: SimulatedPage
) -> None:
    chat = CORPUS.conversations[0]
    live = simulated.post_live(chat.conversation_id, text="on top")
    wait_until(lambda: _emitted(simulated, live.message_id), 40, "the event")
    row = tab.locator(f'[data-cid="{chat.page_cid}"]')
    row.click()
    items = tab.locator(".message-item-wrapper")
    tab.wait_for_function(
        "document.querySelectorAll('.message-item-wrapper').length > 9"
    )
    before = items.count()
    tab.evaluate("document.querySelector('.message-list').scrollTop = 0")
    tab.wait_for_function(
        f"document.querySelectorAll('.message-item-wrapper').length > {before}"
    )

    tab.fill(".send-textarea", "sent by hand")
    tab.click(".send-tool-button")
    tab.locator(".item-right", has_text="sent by hand").wait_for()

    texts = [m.text for m in simulated.ledger.expected() if m.direction == "outbound"]
    assert "sent by hand" in texts
    chances = [(c.surface, c.message_id) for c in simulated.ledger.observable()]
    assert sum(surface == "http_recent" for surface, _ in chances) > before


def test_m36_rows_of_the_conversation_before_stay_under_the_new_header(
    tab: Page, simulated: SimulatedPage
) -> None:
    tab.wait_for_function("document.querySelectorAll('[data-cid]').length > 1")
    first, other = tab.evaluate(SHOWN)[:2]
    for row in tab.locator(".message-item-wrapper").all():
        row.evaluate("row => { row.dataset.earlier = ''; }")
    tab.locator(f'[data-cid="{first["cid"]}"]').click()
    fresh = ".message-item-wrapper:not([data-earlier])"
    tab.wait_for_function("it => document.querySelector(it)", arg=fresh)
    simulated.switches.set(delay_ms=12_000)
    tab.evaluate("it => { document.querySelector(it).id = 'before'; }", fresh)
    tab.locator(f'[data-cid="{other["cid"]}"]').click()

    header = tab.locator(".content-header").text_content()
    assert (header, tab.locator("#before").count()) == (other["name"], 1)
    simulated.switches.set(delay_ms=0)
    tab.wait_for_function("!document.querySelector('#before')")


def test_the_banner_and_the_zombie_show_and_go(
    tab: Page, simulated: SimulatedPage
) -> None:
    banner = tab.locator(".connection-status-container")
    simulated.switches.set(banner="disconnected", zombie=True)
    banner.wait_for()
    assert tab.evaluate(HISTORY, CORPUS.conversations[0].page_cid)["data"] == []
    tab.wait_for_function("!document.querySelector('.contact-item-container')")

    simulated.switches.reset()
    banner.wait_for(state="hidden")
    tab.wait_for_function("document.querySelector('.contact-item-container')")


def test_a_reload_brings_the_page_back(tab: Page, simulated: SimulatedPage) -> None:
    tab.evaluate("window.marked = true")
    simulated.reload()
    tab.wait_for_function("window.marked === undefined")
    simulated.wait_for_page()

    tab.wait_for_function("window.__conversationListFullData__?.length === 40")


def test_inline_json_cannot_end_its_script() -> None:
    assert "</script" not in script_json({"text": "</script><!--"})


def test_static_files_are_small_plain_scripts() -> None:
    folder = Path(__file__).parents[1] / "extension_harness/page/static"
    scripts = sorted(folder.glob("*.js"))

    assert len(scripts) == 7
    assert all('"use strict"' in script.read_text() for script in scripts)
