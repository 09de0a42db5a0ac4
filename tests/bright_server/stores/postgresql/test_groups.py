"""Observed groups on a real PostgreSQL: the same outcomes as of every back end."""

from __future__ import annotations

from tests.bright_server.stores.group_suite.conversations import ConversationSuite
from tests.bright_server.stores.group_suite.ledgers import LedgerSuite
from tests.bright_server.stores.group_suite.messages import MessageGroupSuite


class TestMessages(MessageGroupSuite):
    """See the suite; the fixtures are in conftest."""


class TestConversations(ConversationSuite):
    """See the suite."""


class TestLedgers(LedgerSuite):
    """See the suite."""
