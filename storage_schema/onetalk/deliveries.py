"""Candidates on their way to Bright: what goes up next, oldest first (OT-42)."""

from __future__ import annotations

from typing import cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.arguments import Page, PendingPair
from storage_schema.onetalk.javascript import (
    Number,
    field,
    is_absent,
    is_less,
    least,
    text_of,
)
from storage_schema.onetalk.keys import (
    candidate_key_span,
    message_key,
    read_candidate_key,
)
from storage_schema.onetalk.names import (
    BY_ACCOUNT_CONVERSATION_STATUS,
    BY_ACCOUNT_STATUS,
    CANDIDATES,
    MESSAGES,
)
from storage_schema.onetalk.reads import (
    count_under,
    first_under,
    index_of,
    only_under,
)
from storage_schema.onetalk.records import (
    CandidateRecord,
    CandidateStatus,
    MessageRecord,
)
from storage_schema.onetalk.transactions import reading


def pending_conversations(
    connection: Connection, account: str, page: Page
) -> list[str]:
    """Conversations of an account that have something to send, in key order.

    Each is found with one step of a key cursor, whatever it holds; `page["after"]` is a
    conversation's id.

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    key = [account, "pending_ack"]
    found: list[str] = []
    after = page["after"]
    skip = None if after is None else candidate_key_span(account, after).last
    with reading(connection, [CANDIDATES]) as transaction:
        index = index_of(transaction, CANDIDATES, BY_ACCOUNT_STATUS)
        cursor = index.open_key_cursor(only_under(key)).result
        while cursor is not None:
            primary = text_of(cursor.primary_key)
            if skip is None or is_less(skip, primary):
                name = read_candidate_key(primary)
                conversation = "" if name is None else name.conversation_id
                span = candidate_key_span(account, conversation)
                # Another version's key: it names no conversation of this account.
                if not primary.startswith(span.first):
                    cursor = cursor.continue_().result
                    continue
                found.append(conversation)
                if len(found) >= page["limit"]:
                    break
                skip = span.last
            cursor = cursor.continue_primary_key(key, skip).result
    return found


def next_pending(
    connection: Connection, account: str, conversation: str, limit: int
) -> list[PendingPair]:
    """The next candidates of a conversation, oldest first, with their messages.

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    with reading(connection, [CANDIDATES, MESSAGES]) as transaction:
        candidates = first_under(
            transaction,
            CANDIDATES,
            BY_ACCOUNT_CONVERSATION_STATUS,
            [account, conversation, "pending_ack"],
            limit,
            CandidateRecord,
        )
        messages = transaction.object_store(MESSAGES)
        pairs: list[PendingPair] = []
        for candidate in candidates:
            named = field(candidate, "messageId")
            found: object = UNDEFINED
            if named is not UNDEFINED:  # else another version's: it has no message
                key = message_key(account, conversation, cast("str", named))
                found = messages.get(key).result
            message = None if found is UNDEFINED else cast("MessageRecord", found)
            pairs.append({"candidate": candidate, "message": message})
    return pairs


def still_pending(connection: Connection, account: str, conversation: str) -> int:
    """How many candidates of a conversation wait for an anchor or an ACK."""
    with reading(connection, [CANDIDATES]) as transaction:
        return still_pending_in(transaction, account, conversation)


def still_pending_in(transaction: Transaction, account: str, conversation: str) -> int:
    """The same, inside a transaction over the candidates."""
    waiting: tuple[CandidateStatus, ...] = ("pending_ack", "awaiting_anchor")
    return sum(
        count_under(
            transaction,
            CANDIDATES,
            BY_ACCOUNT_CONVERSATION_STATUS,
            [account, conversation, status],
        )
        for status in waiting
    )


def oldest_pending_since(
    connection: Connection, account: str, among: int
) -> Number | None:
    """`observedAtMs` of the oldest candidate that waits for its ACK; None without one.

    Looked for among the first `among` of the account's upload order.

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    with reading(connection, [CANDIDATES]) as transaction:
        first = first_under(
            transaction,
            CANDIDATES,
            BY_ACCOUNT_STATUS,
            [account, "pending_ack"],
            among,
            CandidateRecord,
        )
    times = [field(candidate, "observedAtMs") for candidate in first]
    known = [each for each in times if not is_absent(each)]
    return least(known) if known else None
