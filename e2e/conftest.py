"""What the end-to-end tests share."""

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection, serve

from e2e.instrumented import instrumented, trips, tripwired
from e2e.outage import outage

__all__ = ["outage"]

FIXTURES = Path(__file__).parents[1] / "tests/extension_harness/extensions"


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers."""
    for line in (
        "tripwired: no read of the extension may be without a bound (OT-17)",
        "instrument(script): a copy of the extension runs this before its worker",
    ):
        config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file stay together, on one process; who waits for the outage first.

    Run side by side (`-n 2 --dist loadgroup`), files share no browser, server or port.
    The outage lasts three minutes, so what waits for it must not begin last.
    """
    for item in items:
        waits = "outage" in getattr(item, "fixturenames", ())
        group = "outage" if waits else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: "outage" not in getattr(item, "fixturenames", ()))


@pytest.fixture
def extension(request: pytest.FixtureRequest, extension: Path, tmp_path: Path) -> Path:
    """The extension; of a ``tripwired`` or ``instrument`` test such a copy."""
    marked = request.node.get_closest_marker("instrument")
    if marked is not None:
        return instrumented(tmp_path, marked.args[0])
    wired = request.node.get_closest_marker("tripwired")
    return tripwired(tmp_path) if wired else extension


@pytest.fixture(autouse=True)
def untripped(request: pytest.FixtureRequest) -> Iterator[None]:
    """A ``tripwired`` test ends with no read that went without a bound."""
    if request.node.get_closest_marker("tripwired") is None:
        yield
        return
    browser = request.getfixturevalue("browser")
    yield
    assert trips(browser) == []


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site_with_worker(tmp_path: Path) -> Iterator[str]:
    """A site that registers a service worker of its own; gives its address."""
    folder = tmp_path / "site"
    folder.mkdir()
    page = "<script>navigator.serviceWorker.register('sw.js')</script>"
    (folder / "index.html").write_text(page)
    (folder / "sw.js").write_text("onfetch = () => {};\n")
    handler = functools.partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class Listener:
    """A WebSocket server for the recorder fixture: hears, and acknowledges."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.acknowledging = True
        self._server = serve(self._talk, "127.0.0.1", 0)
        self.port = int(self._server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _talk(self, connection: ServerConnection) -> None:
        for text in connection:
            frame = json.loads(text)
            self.heard.append(frame["id"])
            if self.acknowledging:
                answer = {"type": "observation.ack", "id": frame["id"]}
                connection.send(json.dumps(answer))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A server for the recorder fixture."""
    server = Listener()
    yield server
    server.close()
