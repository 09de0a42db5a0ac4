"""The named statements of this store, read once."""

from __future__ import annotations

from typing import Final

from bright_server.logs.postgresql import STATEMENTS
from bright_server.sql_file import statements_in

# Bytes, for the driver takes no text that is put together at run time.
SQL: Final[dict[str, bytes]] = {
    name: statement.encode()
    for package, file in (
        (__package__, "queries.sql"),
        (__package__, "commits.sql"),
        (__package__, "dump.sql"),
        ("bright_server.logs", STATEMENTS),
    )
    for name, statement in statements_in(package, file).items()
}
