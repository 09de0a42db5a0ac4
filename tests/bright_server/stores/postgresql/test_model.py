"""The store on PostgreSQL behaves like the reference model (MS-03, MS-40)."""

from __future__ import annotations

from contextlib import ExitStack

from bright_server.testing.engines.postgresql import GivenServer, PostgresqlServer
from bright_server.testing.state_machine import run_against_model
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest


def test_any_history_ends_as_the_model_says(
    databases: PostgresqlServer | GivenServer,
) -> None:
    """MS-40: whatever is called, in whatever order, with restarts between."""
    with ExitStack() as lent:

        def new() -> PostgresqlUnderTest:
            lent.close()  # the example before has ended
            return PostgresqlUnderTest(lent.enter_context(databases.lent_database()))

        run_against_model(new, examples=12)
