"""The contract of observed batches, ledgers and bindings as one suite (MS-40).

It needs the same fixture as `MessageStoreContract`.
"""

from __future__ import annotations

from bright_server.testing.observation_suite.batches import BatchSuite
from bright_server.testing.observation_suite.beside_messages import BesideMessagesSuite
from bright_server.testing.observation_suite.bindings import BindingSuite


class ObservationContract(BatchSuite, BesideMessagesSuite, BindingSuite):
    """Everything that an `ObservationStore` and its bindings promise."""
