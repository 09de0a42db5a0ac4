"""Conversations under lock: their small keys and what may be numbered in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from bright_server.messages import ConversationKey
from bright_server.stores.group_plan import ConversationState
from bright_server.stores.postgresql.connection import Row
from bright_server.stores.postgresql.database import Statement, Transaction


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation whose row this transaction has locked."""

    state: ConversationState
    open_commits: int

    @property
    def ref(self) -> int:
        """Return its small key."""
        return self.state.ref


Conversations: TypeAlias = dict[ConversationKey, Conversation]


async def locked(
    transaction: Transaction,
    made: Iterable[ConversationKey],
    others: Iterable[ConversationKey] = (),
) -> Conversations:
    """Lock conversations in the order of their keys; `made` are made if need be.

    What is read of them is true until the transaction ends: no process remembers it.
    """
    made = set(made)
    wanted = sorted(made | set(others), key=_pair)
    if not wanted:
        return {}
    (rows,) = await transaction.run(lock_of(wanted))
    found = conversations_of(rows)
    missing = sorted(made - found.keys(), key=_pair)
    if missing:
        # Locked again in order, with those that another process has made meanwhile.
        _, rows = await transaction.run(
            ("add_conversations", pairs_of(missing)), lock_of(wanted)
        )
        found = conversations_of(rows)
    return found


def lock_of(keys: Iterable[ConversationKey]) -> Statement:
    """Return the statement that locks those of the conversations that are there."""
    return ("lock_conversations", pairs_of(keys))


def conversations_of(rows: Iterable[Row]) -> Conversations:
    """Return what `lock_of` has found."""
    found = {}
    for account, name, ref, last, lowest, highest, open_commits in rows:
        state = ConversationState(ref, last, lowest, highest)
        found[ConversationKey(account, name)] = Conversation(state, open_commits)
    return found


def pairs_of(keys: Iterable[ConversationKey]) -> tuple[list[str], list[str]]:
    """Return accounts and names as two columns."""
    pairs = [_pair(key) for key in keys]
    return [account for account, _ in pairs], [name for _, name in pairs]


def _pair(key: ConversationKey) -> tuple[str, str]:
    return (key.channel_account_id, key.conversation_id)
