"""The named statements of this store, read once."""

from __future__ import annotations

from typing import Final

from bright_server.sql_file import statements_in

SQL: Final[dict[str, str]] = {
    **statements_in(__package__, "queries.sql"),
    **statements_in(__package__, "commits.sql"),
}
