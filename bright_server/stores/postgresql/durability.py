"""Whether this server, set up as it is, may acknowledge anything (MS-15). No I/O."""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg import errors as server_says

from bright_server.stores.postgresql.connection import Row

_CUT: Final = "an ACK would not survive a power cut"
_FOREIGN: Final = (
    "the database there is not the one that was opened: it was replaced or emptied, or"
    " the address leads to another one; put it back, or start Bright again with the one"
    " that is there"
)
_FSYNC: Final = f"{_CUT}: set fsync = on in postgresql.conf"
_PAGES: Final = f"{_CUT}: set full_page_writes = on in postgresql.conf"
# The settings that `may_commit` and `same_store` ask for, which nobody has.
_REFUSALS: Final = {
    "another_store": _FOREIGN,
    "fsync": f"fsync is off, {_FSYNC}",
    "full_page_writes": f"full_page_writes is off, {_PAGES}",
    "synchronous_commit": (
        "this session's synchronous_commit was changed: let nothing between Bright and"
        " the server reset its sessions"
    ),
}
_ASKED_FOR: Final = re.compile(r"\bbright\.(\w+)")


def fault_of(row: Row) -> str | None:
    """Say why nothing may be committed here, and what to do; None: it may.

    `row` is what the statement `durability` returns.
    """
    in_recovery, fsync, pages, commit, read_only, encoding = row
    if in_recovery:
        return (
            "this server is a standby and read-only: give the primary's address, or"
            " all hosts (postgresql://USER@HOST1,HOST2/NAME)"
        )
    if fsync != "on":
        return f"fsync is {fsync}, {_FSYNC}"
    if pages != "on":
        return f"full_page_writes is {pages}, {_PAGES}"
    if commit == "off":
        return (
            f"synchronous_commit is off, {_CUT}: set it to on in postgresql.conf, and"
            " see ALTER ROLE and ALTER DATABASE … RESET synchronous_commit"
        )
    if read_only != "off":
        return (
            "default_transaction_read_only is on: reset it for this role and database,"
            " or give the primary's address"
        )
    if encoding != "UTF8":
        return (
            f"the database's encoding is {encoding}: make one with"
            " CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    return None


def refusal_of(error: psycopg.Error) -> str | None:
    """Say for what `may_commit` or `same_store` refused; None: it is another error.

    A store without its tables is not the one that was opened, either.
    """
    if isinstance(error, server_says.UndefinedTable):
        return f"{_FOREIGN} ({error.diag.message_primary})"
    if isinstance(error, server_says.UndefinedObject):
        # In whatever language, it quotes the name.
        asked_for = _ASKED_FOR.search(error.diag.message_primary or "")
        return _REFUSALS.get(asked_for[1]) if asked_for else None
    return None
