"""The contract of the committer over a back end as one suite (MS-40).

It needs the same fixture as `MessageStoreContract`.
"""

from __future__ import annotations

from bright_server.testing.committer_suite.admitting import AdmittingSuite
from bright_server.testing.committer_suite.converging import ConvergingSuite
from bright_server.testing.committer_suite.recovering import RecoveringSuite
from bright_server.testing.committer_suite.stepping import SteppingSuite


class CommitterContract(
    ConvergingSuite, SteppingSuite, AdmittingSuite, RecoveringSuite
):
    """Everything that a committer promises over this back end."""
