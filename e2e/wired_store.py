"""One tripwired browser for the tests of the store's verbs, and their accounts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from e2e.instrumented import trips, tripwired
from e2e.verbs import StoreVerbs
from extension_harness.browser import Browser
from extension_harness.launch.browser_process import LaunchOptions
from extension_harness.launch.chromium import Chromium
from extension_harness.storage import ExtensionStorage

_accounts = (f"70{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def wired(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """One browser whose worker is under the wire, and what a test makes of that."""
    extension = tripwired(tmp_path_factory.mktemp("wired"))
    with Browser.launch(
        extension, chromium=chromium, options=LaunchOptions(headless=True)
    ) as running:
        yield running


@pytest.fixture(scope="module")
def browser(wired: Browser) -> Iterator[Browser]:
    """The same for tests that trip nothing: worker and page are both under the wire."""
    yield wired
    assert trips(wired) == []


@pytest.fixture(scope="module")
def verbs(browser: Browser) -> Iterator[StoreVerbs]:
    with browser.extension_page() as page:
        yield StoreVerbs(page, ExtensionStorage(browser))


@pytest.fixture
def account() -> str:
    return next(_accounts)


@pytest.fixture
def stranger() -> str:
    """Another account, with conversations of the same names."""
    return next(_accounts)
