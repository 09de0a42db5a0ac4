"""The store on a real PostgreSQL keeps the whole contract (MS-40)."""

from __future__ import annotations

from bright_server.testing.committer import CommitterContract
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.observation_store import ObservationContract


class TestPostgresql(MessageStoreContract):
    """See the suite; the fixture `stores` is in conftest."""


class TestCommitterOverPostgresql(CommitterContract):
    """See the suite."""


class TestObservationsOverPostgresql(ObservationContract):
    """See the suite."""
