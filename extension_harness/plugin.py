"""pytest options and fixtures over the harness; nothing else.

Each fixture can be overridden: ``launch_options`` decides how Chromium starts,
``extension`` which folder is loaded (also ``@pytest.mark.extension(path)``), ``corpus``
what the simulated page holds (``@pytest.mark.corpus(seed=…, conversations=…,
messages=…)``). Without a usable browser they are errors, never skips. Of a failed test
a folder is kept, named in its report.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The plugin is loaded by every pytest run of an environment: the rest is imported by
# the fixtures that need it.
if TYPE_CHECKING:
    from extension_harness.browser import Browser
    from extension_harness.evidence import Evidence
    from extension_harness.launch.browser_process import LaunchOptions
    from extension_harness.launch.chromium import Chromium
    from extension_harness.network.faults import FaultProxy
    from extension_harness.page.corpus import Corpus
    from extension_harness.page.server import SimulatedPage
    from extension_harness.rig import Rig
    from extension_harness.server import BrightServer
    from extension_harness.storage import ExtensionStorage
    from extension_harness.timeline import Timeline
    from extension_harness.worker import Worker

OWN_EXTENSION = Path(__file__).parent / "extension"
EVIDENCE_FOLDER = Path("var/evidence")
EVIDENCE = pytest.StashKey["Evidence"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--extension``, ``--chromium``, ``--headed``, ``--evidence``."""
    group = parser.getgroup("extension harness")
    group.addoption("--extension", metavar="DIR", help="the unpacked extension to load")
    group.addoption("--chromium", metavar="PATH", help="the Chromium to run")
    group.addoption("--headed", action="store_true", help="show the browser's window")
    group.addoption(
        "--evidence",
        metavar="DIR",
        help=f"where failed tests leave their evidence ({EVIDENCE_FOLDER})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers."""
    config.addinivalue_line(
        "markers", "extension(path): load this unpacked extension in the test's browser"
    )
    config.addinivalue_line(
        "markers",
        "corpus(**arguments): what the simulated page holds (Corpus.generate)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the evidence of a failed test while its parts are still there."""
    report = yield
    evidence = item.stash.get(EVIDENCE, None)
    if report.failed and evidence is not None:
        report.sections.append(("evidence", f"kept in {evidence.collect()}"))
    return report


@pytest.fixture
def timeline() -> Timeline:
    """What happens in this test, in order."""
    from extension_harness.timeline import Timeline  # noqa: PLC0415 - see above

    return Timeline()


@pytest.fixture
def evidence(request: pytest.FixtureRequest, timeline: Timeline) -> Evidence:
    """Where this test's evidence goes when it fails."""
    from extension_harness.evidence import Evidence  # noqa: PLC0415 - see above

    option = request.config.getoption("--evidence")
    root = Path(option) if option else request.config.rootpath / EVIDENCE_FOLDER
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid).strip("_")
    kept = Evidence(root / name[-150:])
    kept.add("timeline.jsonl", timeline.write)
    request.node.stash[EVIDENCE] = kept
    return kept


@pytest.fixture(scope="session")
def chromium(pytestconfig: pytest.Config) -> Chromium:
    """The Chromium that runs; an error without one."""
    from extension_harness.launch.chromium import find  # noqa: PLC0415 - see above

    return find(pytestconfig.getoption("--chromium"))


@pytest.fixture
def extension(request: pytest.FixtureRequest) -> Path:
    """The unpacked extension: the marker's, the option's, or this repository's own."""
    marker = request.node.get_closest_marker("extension")
    if marker is not None:
        return Path(marker.args[0])
    option = request.config.getoption("--extension")
    return Path(option) if option else OWN_EXTENSION


@pytest.fixture
def launch_options(request: pytest.FixtureRequest) -> LaunchOptions:
    """How Chromium starts; with the simulated page's host names where it takes part."""
    from extension_harness.launch.browser_process import LaunchOptions  # noqa: PLC0415

    headless = not request.config.getoption("--headed")
    if "simulated_page" not in request.fixturenames:
        return LaunchOptions(headless=headless)
    page: SimulatedPage = request.getfixturevalue("simulated_page")
    return LaunchOptions(headless=headless, host_rules=page.host_rules, spki=page.spki)


@pytest.fixture
def browser(
    chromium: Chromium,
    extension: Path,
    launch_options: LaunchOptions,
    timeline: Timeline,
    evidence: Evidence,
) -> Iterator[Browser]:
    """A browser of this test's own, with the extension proven to be loaded."""
    from extension_harness.browser import Browser  # noqa: PLC0415 - see above
    from extension_harness.evidence import of_browser  # noqa: PLC0415

    with Browser.launch(
        extension, chromium=chromium, options=launch_options, timeline=timeline
    ) as running:
        evidence.add("browser", of_browser(running))
        yield running


@pytest.fixture
def worker(browser: Browser) -> Worker:
    """The extension's service worker."""
    return browser.worker


@pytest.fixture
def storage(browser: Browser) -> ExtensionStorage:
    """The extension's storage."""
    from extension_harness.storage import ExtensionStorage  # noqa: PLC0415 - see above

    return ExtensionStorage(browser)


@pytest.fixture
def bright_server(
    tmp_path: Path, timeline: Timeline, evidence: Evidence
) -> Iterator[BrightServer]:
    """Bright, running on a database of this test's own."""
    from extension_harness.evidence import copy_of, rows_of  # noqa: PLC0415 - see above
    from extension_harness.server import BrightServer  # noqa: PLC0415

    with BrightServer(tmp_path / "bright.sqlite", timeline=timeline) as running:
        evidence.add("server.log", copy_of(running.log))
        evidence.add("server-store.jsonl", rows_of(running))
        yield running


@pytest.fixture
def fault_proxy(
    bright_server: BrightServer, timeline: Timeline
) -> Iterator[FaultProxy]:
    """A proxy before Bright."""
    from extension_harness.network.faults import FaultProxy  # noqa: PLC0415 - see above

    with FaultProxy(bright_server.host, bright_server.port, timeline=timeline) as proxy:
        yield proxy


@pytest.fixture
def corpus(request: pytest.FixtureRequest) -> Corpus:
    """What the simulated page holds; small unless the marker says otherwise."""
    from extension_harness.page.corpus import Corpus  # noqa: PLC0415 - see above

    marker = request.node.get_closest_marker("corpus")
    asked = {"seed": 1, "conversations": 3, "messages": 60}
    return Corpus.generate(**{**asked, **(marker.kwargs if marker else {})})


@pytest.fixture
def simulated_page(corpus: Corpus, evidence: Evidence) -> Iterator[SimulatedPage]:
    """The simulated OneTalk page with its ledger, listening."""
    from extension_harness.page.server import SimulatedPage  # noqa: PLC0415 - see above

    with SimulatedPage(corpus) as page:
        evidence.add(
            "ledger.json", lambda path: path.write_text(page.ledger.as_json(), "utf-8")
        )
        yield page


@pytest.fixture
def rig(
    simulated_page: SimulatedPage,
    bright_server: BrightServer,
    fault_proxy: FaultProxy,
    browser: Browser,
    timeline: Timeline,
    evidence: Evidence,
) -> Rig:
    """Page, proxy, Bright and a browser whose extension is configured for them."""
    from extension_harness.evidence import database_of  # noqa: PLC0415 - see above
    from extension_harness.rig import DATABASE, Rig  # noqa: PLC0415

    evidence.add("extension-store.json", database_of(browser, DATABASE))
    wired = Rig(
        page=simulated_page,
        server=bright_server,
        proxy=fault_proxy,
        browser=browser,
        binding=bright_server.create_binding([simulated_page.corpus.account]),
        timeline=timeline,
    )
    wired.configure()
    return wired
