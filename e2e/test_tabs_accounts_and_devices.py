"""Several tabs, two accounts, two devices: one fact each, and none crossed.

One page server for each account; one Bright. The second browser is a second device, or,
with a copied profile, the same one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e.operators import ENVIRONMENT
from e2e.page_health import POPUP, operator_pages, popup_pages
from e2e.proof import prove
from e2e.rigs import SHORT
from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.errors import WaitTimeoutError
from extension_harness.launch.browser_process import LaunchOptions
from extension_harness.launch.chromium import Chromium
from extension_harness.network.faults import FaultProxy
from extension_harness.page.corpus import Corpus
from extension_harness.page.server import SimulatedPage
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import DATABASE, MESSAGES, Rig
from extension_harness.server import BrightServer
from extension_harness.storage import ExtensionStorage
from extension_harness.tab import Page
from extension_harness.timeline import Timeline
from extension_harness.waiting import wait_until

OTHER = "2600000000123"
OTHER_PORT = 8443
HOST = "onetalk.alibaba.com"
SETTINGS = {**SHORT, "idleGraceMs": 600_000, "ackTimeoutMs": 60_000}
"""No connection ends because nothing is to be done, or the machine is slow."""
PEACE_SECONDS = 3.0
CLOSE_ALL = """(async () => {
  const tabs = await chrome.tabs.query({url: "https://onetalk.alibaba.com/*"});
  await chrome.tabs.remove(tabs.map((tab) => tab.id));
})()"""


@dataclass
class Company:
    """Two accounts' pages, one Bright behind a proxy, and how browsers start."""

    page: SimulatedPage
    other: SimulatedPage
    server: BrightServer
    proxy: FaultProxy
    chromium: Chromium

    @property
    def other_url(self) -> str:
        return self.other.url.replace(HOST, f"{HOST}:{OTHER_PORT}")

    @contextlib.contextmanager
    def device(
        self, *accounts: str, device_id: str | None = None
    ) -> Iterator[tuple[Rig, Browser]]:
        """A browser of its own, bound for these accounts."""
        there = f"MAP {HOST}:{OTHER_PORT} 127.0.0.1:{self.other.port}"
        options = LaunchOptions(
            host_rules=f"{there}, {self.page.host_rules}",
            spki=f"{self.page.spki},{self.other.spki}",
        )
        with Browser.launch(
            OWN_EXTENSION, chromium=self.chromium, options=options
        ) as browser:
            if device_id is not None:
                ExtensionStorage(browser).set({"deviceId": device_id})
            rig = Rig(
                page=self.page,
                server=self.server,
                proxy=self.proxy,
                browser=browser,
                binding=self.server.create_binding(list(accounts)),
                timeline=Timeline(),
            )
            rig.configure(**SETTINGS)
            yield rig, browser


@pytest.fixture(scope="module")
def company(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Company]:
    corpus = Corpus.generate(seed=161, conversations=3, messages=40)
    # The buyers of the one account write to the other, too.
    second = Corpus.generate(seed=161, conversations=2, messages=30, account=OTHER)
    database = tmp_path_factory.mktemp("company") / "bright.sqlite"
    with (
        SimulatedPage(corpus) as page,
        SimulatedPage(second) as other,
        BrightServer(database, environment=ENVIRONMENT) as server,
        FaultProxy(server.host, server.port) as proxy,
    ):
        yield Company(page, other, server, proxy, chromium)


@pytest.fixture(scope="module")
def device(company: Company) -> Iterator[tuple[Rig, Browser]]:
    """The first device; bound for the one account until a test binds it anew."""
    with company.device(company.page.corpus.account) as made:
        yield made


@pytest.fixture
def first(
    company: Company, device: tuple[Rig, Browser]
) -> Iterator[tuple[Rig, Browser]]:
    """The first device, with every tab closed at the end."""
    yield device
    _, browser = device
    with browser.extension_page() as page:
        page.evaluate(CLOSE_ALL)
    company.page.wait_for_no_page()
    company.other.wait_for_no_page()


def bind(company: Company, rig: Rig, *accounts: str) -> None:
    """Give a device another binding."""
    rig.binding = company.server.create_binding(list(accounts))
    rig.configure(**SETTINGS)


def differences(page: SimulatedPage, company: Company, *browsers: Browser) -> list[str]:
    """Where an account's ledger, the extensions' stores and Bright's do not agree."""
    account = page.corpus.account
    stores = {"Bright": list(company.server.dump().messages)}
    for number, browser in enumerate(browsers):
        held = ExtensionStorage(browser).dump(DATABASE)
        rows = list(held.records(MESSAGES)) if held.present else []
        stores[f"browser {number}"] = rows
    found: list[str] = []
    for name, rows in stores.items():
        own = [row for row in rows if row["channelAccountId"] == account]
        compared = page.ledger.compare(own)
        if not compared.equal:
            found.append(f"{name}, {account}: {compared.as_text(2)}")
    return found


def wait_for_agreement(
    company: Company, *browsers: Browser, of: str | None = None
) -> None:
    """Wait until every store holds each account's facts, once, and no others.

    ``of`` looks at one account alone.
    """
    pages = [
        page
        for page in (company.page, company.other)
        if of in (None, page.corpus.account)
    ]
    last: list[str] = []

    def agreed() -> bool:
        last[:] = [
            each for page in pages for each in differences(page, company, *browsers)
        ]
        return last == []

    try:
        wait_until(agreed, 60, "every store to agree", every=0.5)
    except WaitTimeoutError as late:
        raise WaitTimeoutError(late.what, 60, "; ".join(last)) from late


def test_two_tabs_of_one_account_make_one_fact_each_and_either_may_go(
    company: Company, first: tuple[Rig, Browser]
) -> None:
    """P8, OT-01, OT-63: both see every message; what answers is whichever is open."""
    rig, browser = first
    one = browser.open(company.page.url)
    second = browser.open(company.page.url)
    company.page.wait_for_page(2)
    for n in range(10):
        company.page.post_live(text=f"seen by two {n}")
    prove(rig)
    wait_until(lambda: len(operator_pages(rig)) == 2, 40, "both pages at Bright")
    for gone in (second, one):
        gone.close()
        wait_until(
            lambda: len(operator_pages(rig)) < 2,
            40,
            "the closed page to say goodbye",
        )
        company.page.post_live(text="seen by the one that is left, or by none")
        if gone is one:
            browser.open(company.page.url)
        prove(rig)
    wait_until(lambda: company.proxy.open_connections == 1, 40, "one connection")


def test_of_an_account_out_of_scope_nothing_is_sent_and_it_is_shown(
    company: Company, first: tuple[Rig, Browser]
) -> None:
    """P8, OT-60: kept here, told to nobody; a binding that holds it brings it up."""
    account = company.page.corpus.account
    rig, browser = first
    browser.open(company.page.url)
    browser.open(company.other_url)
    company.other.wait_for_page(1)
    company.other.post_live(text="for nobody's eyes")
    wait_for_agreement(company, browser, of=account)
    with browser.extension_page(POPUP) as popup:
        wait_until(
            lambda: (
                says(popup, account, "Working")
                and says(popup, OTHER, "does not hold this account")
            ),
            60,
            "both pages in the popup",
        )
        assert len(popup_pages(popup)) == 2
    told = [each.body for each in company.proxy.seen() if OTHER in str(each.body)]
    assert told == []
    bind(company, rig, account, OTHER)
    wait_for_agreement(company, browser)


def says(popup: Page, account: str, part: str) -> bool:
    """Whether the popup says this of the account's page."""
    rows = {row["account"]: str(row["words"]) for row in popup_pages(popup)}
    return part in rows.get(account, "")


def test_two_accounts_in_one_browser_are_never_crossed(
    company: Company, first: tuple[Rig, Browser]
) -> None:
    """P8, OT-02, OT-60: one binding holds both; the same buyers write to both."""
    account = company.page.corpus.account
    rig, browser = first
    bind(company, rig, account, OTHER)
    browser.open(company.page.url)
    browser.open(company.other_url)
    company.page.wait_for_page(1)
    company.other.wait_for_page(1)
    for n in range(5):
        company.page.post_live(text=f"to the one {n}")
        company.other.post_live(text=f"to the other {n}")
    wait_for_agreement(company, browser)
    wait_until(
        lambda: (
            {page["channelAccountId"] for page in operator_pages(rig)}
            == {account, OTHER}
        ),
        40,
        "both accounts' pages at Bright",
    )


def test_one_account_on_two_devices_is_one_fact_each(
    company: Company, first: tuple[Rig, Browser]
) -> None:
    """OT-03, OT-60: two devices stand side by side; neither displaces the other.

    The second one makes no anchor and no key of its own.
    """
    account = company.page.corpus.account
    rig, browser = first
    bind(company, rig, account)
    with company.device(account) as (_, second):
        browser.open(company.page.url)
        second.open(company.page.url)
        company.page.wait_for_page(2)
        for n in range(10):
            company.page.post_live(text=f"on two devices {n}")
        wait_for_agreement(company, browser, second, of=account)
        devices = wait_until(lambda: two_devices(rig), 40, "both devices' pages")
        wait_until(lambda: company.proxy.open_connections == 2, 40, "two connections")
        conversations = [
            each.conversation_id for each in company.page.corpus.conversations
        ]
        wait_until(
            lambda: anchored(company, account) == sorted(conversations),
            40,
            "one anchor for each conversation",
        )
        for each in (browser, second):
            stores = ExtensionStorage(each).dump(DATABASE).stores
            assert not [name for name in devices if name in str(stores)]


def two_devices(rig: Rig) -> set[str] | None:
    devices = {str(page["deviceId"]) for page in operator_pages(rig)}
    return devices if len(devices) == 2 else None


def anchored(company: Company, account: str) -> list[str]:
    """The conversations of Bright's anchors, as often as there are any."""
    return sorted(
        row["conversationId"]
        for row in company.server.dump().of("anchor")
        if row["channelAccountId"] == account
    )


def test_a_displaced_connection_ends_with_4409_and_does_not_fight(
    company: Company, first: tuple[Rig, Browser]
) -> None:
    """OT-60: the same device connects anew, as with a copied profile."""
    account = company.page.corpus.account
    rig, browser = first
    bind(company, rig, account)
    browser.open(company.page.url)
    wait_for_agreement(company, browser, of=account)
    device_id = ExtensionStorage(browser).get()["deviceId"]
    with company.device(account, device_id=device_id) as (_, second):
        ExtensionStorage(second).set({"bindingToken": rig.binding.token})
        second.open(company.page.url)
        company.page.wait_for_page(2)
        with browser.extension_page(POPUP) as popup:
            popup.wait_for(
                "document.getElementById('state-detail').textContent"
                " === 'Another connection of this device took over.'",
                timeout=60,
            )
        stop = worker_status(browser)["connection"]["stop"]
        assert stop["closeCode"] == 4409
        wait_until(lambda: company.proxy.open_connections == 1, 40, "one left")
        made = company.proxy.connections
        until = time.monotonic() + PEACE_SECONDS
        count = 0
        while time.monotonic() < until:  # whoever fights does it when work comes
            company.page.post_live(text=f"while one rests {count}")
            count += 1
            time.sleep(0.1)
        wait_for_agreement(company, second, of=account)
        assert company.proxy.connections == made
        assert worker_status(second)["connection"]["state"] == "online"
        assert worker_status(browser)["connection"]["state"] == "stopped"
