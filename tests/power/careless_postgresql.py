"""A program of Bright's that commits however its PostgreSQL is set up.

Run as `python -m tests.power.careless_postgresql MODULE …`. It shows that the tests of
power cuts can fail, and nothing else.
"""

from __future__ import annotations

import runpy
import sys

from bright_server.stores.postgresql.queries import SQL

# What is asked for before each COMMIT, and now may be anything.
NOTHING = b"SELECT %s::text"


if __name__ == "__main__":
    SQL["may_commit"] = NOTHING
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
