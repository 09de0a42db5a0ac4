"""A connection: frames in order or not at all, and ends that may not know."""

from __future__ import annotations

import pytest

from extension_harness.simulation.network import ABNORMAL, Closing, Link, Text


@pytest.fixture
def link() -> Link:
    return Link(1, 0, is_accepted=True, is_server_open=True)


def test_a_cut_loses_what_is_on_the_way_and_both_ends_learn_of_it(link: Link) -> None:
    link.send("up", Text("a"))
    link.send("down", Text("b"))

    link.cut()

    assert list(link.up) == [Closing(ABNORMAL)]
    assert list(link.down) == [Closing(ABNORMAL)]


def test_on_a_half_open_connection_nothing_passes_and_nobody_knows(link: Link) -> None:
    link.go_dead(40_000)

    link.send("up", Text("a"))
    link.send("down", Text("b"))

    assert not link.up
    assert not link.down
    assert link.is_client_open
    assert link.is_server_open


def test_what_a_dead_worker_had_handed_over_is_sent_or_not(link: Link) -> None:
    link.send("up", Text("a"))
    link.end_client(delivers=True)
    assert list(link.up) == [Text("a"), Closing(ABNORMAL)]

    other = Link(2, 0, is_accepted=True, is_server_open=True)
    other.send("up", Text("a"))
    other.end_client(delivers=False)
    assert list(other.up) == [Closing(ABNORMAL)]


def test_what_a_dead_server_had_sent_still_arrives(link: Link) -> None:
    link.send("down", Text("a"))

    link.end_server()

    assert list(link.down) == [Text("a"), Closing(ABNORMAL)]
    link.send("up", Text("b"))
    assert not link.up


def test_a_direction_that_is_held_goes_on_in_time(link: Link) -> None:
    link.send("down", Text("a"))
    link.held_until_ms["down"] = 500

    assert not link.is_passable("down", 499)
    assert link.is_passable("down", 500)


def test_nothing_arrives_before_the_handshake() -> None:
    link = Link(1, 0)
    link.send("up", Text("a"))

    assert not link.is_passable("up", 0)
