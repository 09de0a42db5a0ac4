"""One connection through the fault proxy, where a cut meets its making."""

from __future__ import annotations

import socket

import pytest

from extension_harness.network.proxy_connection import Link
from extension_harness.waiting import wait_until


def test_a_link_that_is_cut_while_it_connects_leaves_no_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody else knows the socket yet: whoever made it has to close it."""
    client, far_client = socket.socketpair()
    server, far_server = socket.socketpair()

    def connect(*_: object) -> socket.socket:
        link.cut()
        return server

    monkeypatch.setattr(socket, "create_connection", connect)
    link = Link(1, client, ("127.0.0.1", 1), lambda *_: None)
    with far_client, far_server:
        link.start()
        wait_until(lambda: server.fileno() == -1, 10, "the socket's end")
    assert client.fileno() == -1
