"""The options page takes an address and a token only after a real greeting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.server import BrightServer
from extension_harness.storage import ExtensionStorage
from extension_harness.tab import Page
from extension_harness.waiting import wait_until

ACCOUNT = "2500000000001"
OUTCOME = """(mood, part) => {
  const outcome = document.getElementById("outcome");
  return outcome.dataset.mood === mood && outcome.textContent.includes(part);
}"""


@pytest.fixture
def options(browser: Browser) -> Iterator[Page]:
    """The options page of an extension that nothing was told yet."""
    with browser.extension_page("pages/options.html") as page:
        page.wait_for("document.getElementById('save').textContent !== ''")
        yield page


def save(options: Page, address: str, token: str) -> None:
    options.fill("#server-url", address)
    options.fill("#binding-token", token)
    options.click("#save")


@pytest.mark.parametrize(
    ("address", "token", "words"),
    [
        ("", "token", "Enter the server"),
        ("wss://user:secret@bright.example", "token", "without"),
        ("127.0.0.1:9/?token=x", "token", "without"),
        ("127.0.0.1:9", "", "token"),
        ("127.0.0.1:9", "token", "no Bright server at this address"),
    ],
)
def test_what_cannot_work_is_said_and_not_saved(
    options: Page, browser: Browser, address: str, token: str, words: str
) -> None:
    save(options, address, token)
    options.wait_for(OUTCOME, "bad", words, timeout=60)
    stored = ExtensionStorage(browser).get()
    assert "serverUrl" not in stored
    assert "bindingToken" not in stored


def test_a_wrong_token_is_refused_and_a_right_one_saved(
    options: Page, browser: Browser, bright_server: BrightServer
) -> None:
    """OT-60: what Bright refuses is not saved; what it takes is, and connects."""
    storage = ExtensionStorage(browser)
    address = f"{bright_server.host}:{bright_server.port}"
    save(options, address, "a-token-that-nobody-made")
    options.wait_for(OUTCOME, "bad", "token", timeout=60)
    assert "bindingToken" not in storage.get()
    binding = bright_server.create_binding([ACCOUNT])
    save(options, address, binding.token)
    options.wait_for(OUTCOME, "good", ACCOUNT, timeout=60)
    stored = storage.get()
    assert stored["serverUrl"] == address
    assert stored["bindingToken"] == binding.token
    shown = options.evaluate("document.documentElement.outerHTML")
    assert binding.token not in shown
    assert options.evaluate("document.getElementById('binding-token').value") == ""
    wait_until(
        lambda: worker_status(browser)["connection"]["state"] != "unconfigured",
        40,
        "the worker to hear of it",
    )
    # The saved token is kept where only the address is changed.
    save(options, f"ws://{address}/", "")
    options.wait_for(OUTCOME, "good", ACCOUNT, timeout=60)
    wait_until(
        lambda: storage.get()["serverUrl"] == f"ws://{address}/", 40, "the address"
    )
    assert storage.get()["bindingToken"] == binding.token


def test_a_server_that_is_away_can_be_saved_all_the_same(
    options: Page, browser: Browser
) -> None:
    save(options, "127.0.0.1:9", "token")
    options.wait_for(OUTCOME, "bad", "no Bright server", timeout=60)
    options.click("#save-anyway")
    options.wait_for("document.getElementById('outcome').dataset.mood === 'quiet'")
    stored = ExtensionStorage(browser).get()
    assert stored["serverUrl"] == "127.0.0.1:9"
    assert stored["bindingToken"] == "token"
