"""Whether this server, set up as it is, may acknowledge anything (MS-15). No I/O."""

from __future__ import annotations

from bright_server.stores.postgresql.connection import Row

_CUT = "an ACK would not survive a power cut"


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
        return f"fsync is {fsync}, {_CUT}: set fsync = on in postgresql.conf"
    if pages != "on":
        return (
            f"full_page_writes is {pages}, {_CUT}: set full_page_writes = on in"
            " postgresql.conf"
        )
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
