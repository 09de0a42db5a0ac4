"""What the writer remembers between groups, so that it need not look it up again."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict

from bright_server.messages import ConversationKey
from bright_server.stores.group_plan import ConversationState
from bright_server.stores.sqlite.connection import scalar
from bright_server.stores.sqlite.queries import SQL


class ConversationCache:
    """Small keys and last sequences of the conversations used last; bounded.

    Only what is on disk is in it: it is told after a commit, and emptied after a
    roll-back.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._states: OrderedDict[ConversationKey, ConversationState] = OrderedDict()

    def get(self, key: ConversationKey) -> ConversationState | None:
        """Return a conversation's state if it is known here."""
        state = self._states.get(key)
        if state is not None:
            self._states.move_to_end(key)
        return state

    def put(self, states: dict[ConversationKey, ConversationState]) -> None:
        """Keep states, and let go of those unused longest."""
        for key, state in states.items():
            self._states[key] = state
            self._states.move_to_end(key)
        while len(self._states) > self._limit:
            self._states.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()


class WriterMemory:
    """The conversations, the last position, and whether single commits count.

    It holds as long as nobody but the group writer has changed the database: others on
    this connection say so by `forget`, and of other connections, of any process, SQLite
    says so itself. Only for the connection's own thread, inside a transaction.
    """

    def __init__(self, limit: int) -> None:
        self.conversations = ConversationCache(limit)
        self.last_position = 0
        self.has_single_observations = False
        self.has_open_sends = False
        self._seen_version: object = None

    def refresh(self, database: sqlite3.Connection) -> None:
        """Look up again what may have changed since the last transaction."""
        # Only once the transaction has begun does this tell of all that came before.
        version = scalar(database, "PRAGMA data_version")
        if version == self._seen_version:
            return
        self.conversations.clear()
        self.last_position = int(str(scalar(database, SQL["last_position"])))
        self.has_single_observations = bool(
            scalar(database, SQL["has_single_observations"])
        )
        self.has_open_sends = bool(scalar(database, SQL["has_open_sends"]))
        self._seen_version = version

    def forget(self) -> None:
        """Trust nothing any more: look everything up in the next transaction."""
        self._seen_version = None
