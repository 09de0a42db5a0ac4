"""The contract of a message store as one suite (MS-40): certify a back end with it.

Make a class of your own from it and give it a fixture `stores` that returns a
`StoreUnderTest`, a new and empty one for each test:

    class TestMyStore(MessageStoreContract):
        @pytest.fixture
        def stores(self, tmp_path: Path) -> MyStoreUnderTest:
            return MyStoreUnderTest(tmp_path)

The tests are coroutines; pytest-asyncio in its automatic mode runs them.
"""

from __future__ import annotations

from bright_server.testing.store_suite.atomic_step import AtomicStepSuite
from bright_server.testing.store_suite.both_doors import BothDoorsSuite
from bright_server.testing.store_suite.history import HistorySuite
from bright_server.testing.store_suite.readiness import ReadinessSuite
from bright_server.testing.store_suite.recovery_facts import RecoverySuite
from bright_server.testing.store_suite.reservation import ReservationSuite
from bright_server.testing.store_suite.several_openings import (
    SeveralOpeningsSuite,
)
from bright_server.testing.store_suite.steps import StepSuite


class MessageStoreContract(
    ReservationSuite,
    StepSuite,
    AtomicStepSuite,
    ReadinessSuite,
    RecoverySuite,
    HistorySuite,
    BothDoorsSuite,
    SeveralOpeningsSuite,
):
    """Everything that a `MessageStore` promises, and how it lives beside groups."""
