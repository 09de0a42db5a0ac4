"""The harness drives a page: enough to press, type, look and wait."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from e2e.conftest import FIXTURES
from extension_harness.browser import Browser
from extension_harness.errors import EvaluationError, WaitTimeoutError
from extension_harness.tab import Page
from extension_harness.waiting import wait_until

pytestmark = pytest.mark.extension(FIXTURES / "recorder")

FORM = """<!doctype html><style>body {margin: 0; height: 3000px}
button {margin-top: 2000px}</style><input value="old"><button>Press</button>
<script>
  globalThis.trusted = [];
  document.querySelector("button").onclick = (event) => trusted.push(event.isTrusted);
</script>"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.open(f"data:text/html,{quote(FORM)}") as page:
        yield page


def test_a_press_is_a_real_one_even_below_the_fold(page: Page) -> None:
    page.click("button")
    assert page.wait_for("trusted.length && trusted") == [True]


def test_typing_replaces_what_was_there(page: Page) -> None:
    page.fill("input", "new text")
    assert page.evaluate("document.querySelector('input').value") == "new text"


def test_an_element_that_is_not_there_is_told(page: Page) -> None:
    with pytest.raises(WaitTimeoutError, match="in the page"):
        page.click("#none", timeout=0.2)


def test_what_is_awaited_in_vain_is_told_with_the_last_error(page: Page) -> None:
    with pytest.raises(WaitTimeoutError, match=r"ReferenceError: missing is not def"):
        page.wait_for("missing", timeout=0.2)


def test_an_address_that_does_not_load_is_told(page: Page) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(EvaluationError, match="ERR_CONNECTION_REFUSED"):
        page.goto(f"http://127.0.0.1:{port}/")


def test_what_the_page_throws_is_raised(page: Page) -> None:
    with pytest.raises(EvaluationError, match="TypeError: no"):
        page.evaluate("(text) => { throw new TypeError(text) }", "no")


def test_size_and_colour_scheme_are_set_and_pictured(
    page: Page, tmp_path: Path
) -> None:
    page.resize(321, 234)
    page.prefer_color_scheme("dark")
    dark = "matchMedia('(prefers-color-scheme: dark)').matches"
    assert page.evaluate(f"[innerWidth, innerHeight, {dark}]") == [321, 234, True]
    picture = page.screenshot(tmp_path / "page.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (321, 234)


def test_closing_twice_is_no_error(browser: Browser, page: Page) -> None:
    page.close()
    page.close()
    wait_until(
        lambda: (
            page.target_id
            not in [target["targetId"] for target in browser.devtools.targets()]
        ),
        40,
        "the tab to be gone",
    )
