"""A connection that somebody left in the middle of something is used no more."""

from __future__ import annotations

from psycopg.pq import PipelineStatus

from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import (
    Everybody,
    batch_of,
    granted,
    showing,
)
from tests.bright_server.stores.group_suite.works import sequences
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest


async def test_ms_30_a_connection_that_was_left_in_a_pipeline_stores_no_group(
    stores: PostgresqlUnderTest,
) -> None:
    """The driver leaves it there when it is cancelled in the moment of its beginning.

    It could copy no rows: each group that drew it would not be stored.
    """
    # One alone: so it is the one that is drawn.
    opening = stores.opened(ManualClock(), Everybody(), database_connections=1)
    async with opening as backend:
        grant = await granted(backend)
        pool = backend.database._pool
        async with pool.connection() as connection:
            await connection.pipeline().__aenter__()
        assert connection.pgconn.pipeline_status == PipelineStatus.ON

        (outcome,) = await backend.observations.commit_group(
            [batch_of(grant, showing("p1"))]
        )
        assert sequences(outcome) == [(1, False)]
        assert connection.closed
