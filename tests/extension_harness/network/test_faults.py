"""Each fault of the proxy, between a real client and a real server."""

import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection, serve

from extension_harness.errors import FaultRefusedError, WaitTimeoutError
from extension_harness.network.faults import FaultProxy
from extension_harness.timeline import Timeline
from extension_harness.waiting import wait_until

QUIET = 0.2


class Echo:
    """Answers each ``ask`` with an ``answer`` of the same number."""

    def __init__(self, port: int = 0) -> None:
        self.heard: list[int] = []
        self.offered: list[str | None] = []
        self._server = serve(self._talk, "127.0.0.1", port)
        self.port = int(self._server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _talk(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.offered.append(connection.request.headers.get("Sec-WebSocket-Extensions"))
        for message in connection:
            number = json.loads(message)["n"]
            self.heard.append(number)
            connection.send(json.dumps({"type": "answer", "n": number}))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", echo.port, timeline=Timeline()) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[ClientConnection]:
    with connect(proxy.url, close_timeout=1) as client:
        yield client


def ask(client: ClientConnection, *numbers: int) -> None:
    for number in numbers:
        client.send(json.dumps({"type": "ask", "n": number}))


def answers(client: ClientConnection, count: int, timeout: float = 5) -> list[int]:
    return [json.loads(client.recv(timeout))["n"] for _ in range(count)]


def assert_silent(client: ClientConnection) -> None:
    with pytest.raises(TimeoutError):
        client.recv(QUIET)


def test_without_faults_everything_passes_and_is_seen(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 1, 2, 3)
    assert answers(client, 3) == [1, 2, 3]
    seen = proxy.seen("ask", "to_server")
    assert [each.body and each.body["n"] for each in seen] == [1, 2, 3]
    assert len(proxy.seen("answer", "to_client")) == 3
    assert proxy.connections == proxy.open_connections == 1


def test_compression_is_not_offered_so_that_frames_can_be_read(
    client: ClientConnection, echo: Echo
) -> None:
    ask(client, 1)
    answers(client, 1)
    assert echo.offered == [None]


def test_a_chosen_answer_is_lost_and_no_other(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    fault = proxy.swallow("answer", nth=2)
    ask(client, 1, 2, 3)
    assert answers(client, 2) == [1, 3]
    assert fault.spent
    assert [each.body and each.body["n"] for each in proxy.seen("answer")] == [1, 2, 3]


def test_a_chosen_question_is_lost(
    client: ClientConnection, proxy: FaultProxy, echo: Echo
) -> None:
    proxy.swallow("ask", direction="to_server")
    ask(client, 1, 2)
    assert answers(client, 1) == [2]
    assert echo.heard == [2]


def test_an_answer_comes_twice(client: ClientConnection, proxy: FaultProxy) -> None:
    proxy.duplicate("answer")
    ask(client, 1, 2)
    assert answers(client, 3) == [1, 1, 2]


def test_answers_come_in_reverse(client: ClientConnection, proxy: FaultProxy) -> None:
    proxy.reorder("answer", count=3)
    ask(client, 1, 2, 3)
    assert answers(client, 3) == [3, 2, 1]
    ask(client, 4)
    assert answers(client, 1) == [4]


def test_a_delayed_answer_is_overtaken(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    proxy.delay("answer", 0.3)
    began = time.monotonic()
    ask(client, 1, 2)
    assert answers(client, 2) == [2, 1]
    assert time.monotonic() - began >= 0.3


def test_a_held_answer_waits_for_its_release(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    fault = proxy.hold("answer", count=2)
    ask(client, 1, 2, 3)
    fault.wait()
    assert answers(client, 1) == [3]
    assert_silent(client)
    fault.release()
    assert answers(client, 2) == [1, 2]


def test_a_held_answer_can_be_dropped(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    fault = proxy.hold("answer")
    ask(client, 1)
    fault.wait()
    fault.drop()
    ask(client, 2)
    assert answers(client, 1) == [2]


def test_a_cut_is_a_reset_at_both_ends(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 1)
    answers(client, 1)
    assert proxy.cut() == 1
    with pytest.raises(ConnectionClosed) as closed:
        client.recv(5)
    assert isinstance(closed.value.__cause__, ConnectionResetError)
    assert proxy.open_connections == 0


def test_a_hang_up_is_an_end_without_a_close_frame(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 1)
    answers(client, 1)
    assert proxy.hang_up() == 1
    with pytest.raises(ConnectionClosed) as closed:
        client.recv(5)
    assert closed.value.rcvd is None
    assert not isinstance(closed.value.__cause__, ConnectionResetError)


def test_a_cut_can_wait_for_a_message_which_is_lost_with_it(
    client: ClientConnection, proxy: FaultProxy, echo: Echo
) -> None:
    fault = proxy.cut_on("ask", nth=2)
    ask(client, 1)
    answers(client, 1)
    ask(client, 2)
    fault.wait()
    with pytest.raises(ConnectionClosed):
        client.recv(5)
    assert echo.heard == [1]


def test_a_stall_stops_one_direction_and_ends_in_order(
    client: ClientConnection, proxy: FaultProxy, echo: Echo
) -> None:
    proxy.stall("to_client")
    ask(client, 1, 2)
    wait_until(lambda: echo.heard == [1, 2], 5, "both questions")
    assert_silent(client)
    proxy.resume()
    assert answers(client, 2) == [1, 2]


def test_a_half_open_connection_is_silent_and_is_not_closed(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 1)
    answers(client, 1)
    assert proxy.half_open() == 1
    ask(client, 2)
    assert_silent(client)
    assert proxy.open_connections == 1
    with connect(proxy.url) as another:
        ask(another, 3)
        assert answers(another, 1) == [3]


def test_a_refused_connection_is_refused_and_open_ones_stay(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 1)
    answers(client, 1)
    port = proxy.port
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    ask(client, 2)
    assert answers(client, 1) == [2]
    proxy.accept()
    assert proxy.port == port
    with connect(proxy.url) as another:
        ask(another, 3)
        assert answers(another, 1) == [3]


def test_without_an_upstream_the_client_is_cut_and_later_served_again() -> None:
    echo = Echo()
    with FaultProxy("127.0.0.1", echo.port) as proxy:
        echo.close()
        with pytest.raises((WebSocketException, OSError, EOFError)):
            connect(proxy.url).__enter__()
        again = Echo(echo.port)
        with connect(proxy.url) as client:
            ask(client, 1)
            assert answers(client, 1) == [1]
        again.close()


def test_a_server_that_ends_ends_the_clients_connection(
    client: ClientConnection, proxy: FaultProxy, echo: Echo
) -> None:
    ask(client, 1)
    answers(client, 1)
    echo.close()
    with pytest.raises(ConnectionClosed):
        client.recv(5)
    wait_until(lambda: proxy.open_connections == 0, 5, "no open connection")


def test_slowness_lets_one_message_pass_at_a_time(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    proxy.slow(0.05)
    began = time.monotonic()
    ask(client, 1, 2, 3, 4)
    assert answers(client, 4) == [1, 2, 3, 4]
    assert time.monotonic() - began >= 0.2


def test_clearing_releases_what_is_held(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    fault = proxy.hold("answer", count=9)
    ask(client, 1, 2)
    wait_until(lambda: fault.hits == 2, 5, "two held")
    proxy.clear()
    assert answers(client, 2) == [1, 2]


def test_waiting_for_what_does_not_come_tells_what_came(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 1)
    answers(client, 1)
    with pytest.raises(WaitTimeoutError, match=r"2 ask through the proxy .*seen: 1"):
        proxy.wait_for("ask", 2, timeout=0.1)
    with pytest.raises(WaitTimeoutError, match=r"swallow of 1 answer .* 0 of them"):
        proxy.swallow("answer").wait(0.1)


def test_a_closed_proxy_is_not_opened_again(echo: Echo) -> None:
    proxy = FaultProxy("127.0.0.1", echo.port)
    proxy.close()
    with pytest.raises(FaultRefusedError, match="make another"):
        proxy.accept()


def test_what_is_no_websocket_passes_as_it_is() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[::-1])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with FaultProxy("127.0.0.1", server.server_port) as proxy:
            address = f"http://127.0.0.1:{proxy.port}/"
            with urllib.request.urlopen(address, data=b"abc" * 50_000) as answer:
                assert answer.read() == b"cba" * 50_000
        server.shutdown()


def test_the_timeline_gets_names_and_no_contents(
    client: ClientConnection, proxy: FaultProxy
) -> None:
    ask(client, 77_777)
    answers(client, 1)
    events = proxy.timeline.events("frame")
    assert {event.facts["type"] for event in events} == {"ask", "answer"}
    assert "77777" not in repr(events)
    assert "77777" not in repr(proxy.seen())
