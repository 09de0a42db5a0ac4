"""Requests of any kind, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from bright_server.commit.records import (
    AuthenticatedSend,
    CommitKey,
    FrozenDelivery,
    MessageContent,
    ReserveCandidate,
)
from bright_server.messages import ConversationKey

# Short and alike, so that one field's end is often another's beginning.
texts = st.text(st.sampled_from("ab1\x00é🙂\xff"), max_size=3)
maybe_texts = st.none() | texts
requests = st.builds(
    AuthenticatedSend,
    key=st.builds(
        CommitKey, st.sampled_from(["sent", "observed"]), texts, texts, texts
    ),
    conversation=st.builds(ConversationKey, texts, texts),
    content=st.builds(
        MessageContent,
        author_id=texts,
        direction=texts,
        kind=texts,
        text=maybe_texts,
        content=maybe_texts,
        quote=maybe_texts,
        recall=maybe_texts,
        sent_at_ms=st.none() | st.integers(0, 2**63 - 1),
        custom_type=maybe_texts,
        body_reference=maybe_texts,
    ),
    device=maybe_texts,
    mentions=st.lists(texts, max_size=3).map(tuple),
    reply_to=maybe_texts,
)
candidates = st.builds(
    ReserveCandidate,
    message_id=texts,
    created_at_ms=st.integers(0, 2**63 - 1),
    history_expires_at_ms=st.none() | st.integers(0, 2**63 - 1),
    raw=maybe_texts,
)
deliveries = st.builds(
    FrozenDelivery,
    recipient=maybe_texts,
    group=maybe_texts,
    member_version=st.none() | st.integers(0, 2**31),
    inline=st.booleans(),
)
