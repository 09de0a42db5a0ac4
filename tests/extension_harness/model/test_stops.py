"""A stop is said of one token at one server, and holds nothing else (OT-60)."""

from __future__ import annotations

from extension_harness.model.effects import Connect
from extension_harness.model.events import Alarm, SocketClosed
from tests.extension_harness.model.lives import Life, new_disk


def test_a_stop_of_the_old_token_never_holds_a_new_one() -> None:
    """OT-60: the refusal is written after a new token was saved, and then the worker
    dies before it can come back; the next life connects all the same."""
    disk = new_disk()
    first = Life(disk)
    socket = first.welcome()
    disk.local |= {"bindingToken": "brt_another", "stop": None}
    first.wake(SocketClosed(socket, 4401, "revoked"))
    first.run()
    assert disk.local["stop"]["closeCode"] == 4401

    second = Life(disk, seed=2)
    second.welcome()

    assert second.sent("hello")[-1]["bindingToken"] == "brt_another"


def test_a_stop_holds_what_it_was_said_of_over_restarts() -> None:
    """OT-60: the same token at the same server is not tried again by itself."""
    disk = new_disk()
    first = Life(disk)
    first.wake(SocketClosed(first.welcome(), 4401, "revoked"))
    first.run()
    second = Life(disk, seed=2)
    second.wake(Alarm())
    second.run()

    assert not second.asked(Connect)


def test_a_stop_tells_no_token() -> None:
    """OT-60: what is remembered of the token is a mark of it, not the token."""
    disk = new_disk()
    life = Life(disk)
    life.wake(SocketClosed(life.welcome(), 4401, "revoked"))
    life.run()

    assert disk.local["bindingToken"] not in str(disk.local["stop"])


def test_a_stop_of_an_older_version_holds() -> None:
    """OT-60: one that does not say whose it is keeps to whatever is configured."""
    disk = new_disk()
    disk.local["stop"] = {"closeCode": 4401, "reason": "revoked", "atMs": 1}
    life = Life(disk)
    life.wake(Alarm())
    life.run()

    assert not life.asked(Connect)
