"""A program of Bright's that takes every answer of a Valkey for an ACK.

Run as `python -m tests.power.careless_redis MODULE …`. It shows that the tests of power
cuts can fail, and nothing else.
"""

from __future__ import annotations

import runpy
import sys

from bright_server.stores.redis.confirming import Confirming
from bright_server.stores.redis.conveyor import Command


def forget_durability() -> None:
    """Have nobody asked whether an answer is kept."""

    def words(_: Confirming) -> list[Command]:
        return [("PING",)]

    def fault(*_: object) -> None:
        return None

    for forgetful in (words, fault):
        setattr(Confirming, forgetful.__name__, forgetful)


if __name__ == "__main__":
    forget_durability()
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
