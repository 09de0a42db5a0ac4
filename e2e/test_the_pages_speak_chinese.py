"""Popup and options page in a Chinese browser: every text, and none left in English."""

from __future__ import annotations

import re

import pytest

from extension_harness.browser import Browser
from extension_harness.launch.browser_process import LaunchOptions
from extension_harness.storage import ExtensionStorage

VISIBLE = """Array.from(document.querySelectorAll("body *"))
  .filter((each) => !each.children.length && each.checkVisibility())
  .map((each) => each.textContent.trim()).filter(Boolean)"""
CHINESE = re.compile(r"[\u4e00-\u9fff]")
NO_WORDS = re.compile(r"[\d/%]*")


@pytest.fixture
def launch_options(request: pytest.FixtureRequest) -> LaunchOptions:
    headless = not request.config.getoption("--headed")
    return LaunchOptions(headless=headless, extra_args=("--lang=zh-CN",))


def test_both_pages_are_in_the_browsers_language(browser: Browser) -> None:
    with browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(
            "document.getElementById('state-name').textContent === '尚未设置'"
        )
        assert popup.evaluate("document.documentElement.lang") == "zh-CN"
        check_chinese(popup.evaluate(VISIBLE))
    ExtensionStorage(browser).set({"serverUrl": "127.0.0.1:9", "bindingToken": "token"})
    with browser.extension_page("pages/options.html") as options:
        options.wait_for("document.getElementById('save').textContent !== ''")
        check_chinese(options.evaluate(VISIBLE))
        options.click("#save")
        options.wait_for(
            "document.getElementById('outcome').dataset.mood === 'bad'", timeout=60
        )
        check_chinese(options.evaluate(VISIBLE))


def check_chinese(texts: list[str]) -> None:
    """Every text that has words is Chinese; names are names."""
    assert texts
    names = {"Bright for OneTalk"}
    foreign = [
        each
        for each in texts
        if each not in names
        and not NO_WORDS.fullmatch(each)
        and not CHINESE.search(each)
    ]
    assert not foreign, foreign
