"""What goes between the server and its writer process comes out as it went in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    BatchCommitted,
    BuyerFacts,
    CardsStored,
    Claim,
    ClaimProven,
    ClaimUnproven,
    Denied,
    Discovery,
    DiscoveryStored,
    FactsStored,
    NotStored,
    ObservedBatch,
    ObservedProfiles,
    Outcome,
    Probe,
    ProbeStored,
    ProfilesStored,
    Progress,
    ProgressStored,
    RenderedCards,
    Work,
)
from bright_server.messages import (
    Anchor,
    BindingId,
    ConversationKey,
    DiscoveredConversation,
    Grant,
    ObservedFacts,
    ObservedMessage,
    ObservedMessages,
    ObservedProfile,
    RenderedCard,
)
from bright_server.writer.parcels import (
    GroupDone,
    Parcels,
    pack,
    pack_group,
    pack_work,
    unpack_group,
    unpack_work,
)

GRANT = Grant(BindingId("binding"), 3, frozenset({"1", "2"}))
KEY = ConversationKey("1", "1-2#11011@icbu")
ANCHOR = Anchor(KEY, "1750000000000", 5)
MESSAGE = ObservedMessage(
    "1750000000000", "2", "inbound", 7, "text", "样品 👍", None, None, None, None
)

WORK: list[Work] = [
    Discovery(GRANT, "1", [DiscoveredConversation("c", 5, None)]),
    Progress(GRANT, KEY, "null", True, None, 2),
    Claim(GRANT, KEY, "1750000000000", 7),
    ObservedProfiles(GRANT, "1", [ObservedProfile("c", None, 5, "f", "{}")]),
    RenderedCards(GRANT, KEY, [RenderedCard("17", "quote_card", "[1]")]),
    BuyerFacts(GRANT, KEY, ObservedFacts(5, "f", "{}")),
    Probe(4),
    ObservedBatch(GRANT, KEY, 11, ObservedMessages.of([MESSAGE])),
    ObservedBatch(
        GRANT, KEY, 11, ObservedMessages.of([MESSAGE, MESSAGE._replace(raw="{}")])
    ),
]
OUTCOMES: list[Outcome] = [
    BatchCommitted([4, 2, 1], repeats=frozenset({2}), conflicts=frozenset({1})),
    DiscoveryStored([None, ANCHOR]),
    ProgressStored(),
    ClaimProven(ANCHOR, moved=True),
    ClaimUnproven(),
    ProfilesStored(frozenset({0})),
    CardsStored(3, frozenset({1}), frozenset({2})),
    FactsStored(taken=False),
    ProbeStored(),
    Denied(Standing.VERSION_CHANGED),
    NotStored("disk full"),
]


def only(parcel: bytes) -> object:
    (content,) = Parcels().feed(parcel)
    return content


@pytest.mark.parametrize("work", WORK, ids=lambda work: type(work).__name__)
def test_work_comes_out_as_it_went_in(work: Work) -> None:
    assert unpack_work(only(pack_work(7, work))) == (7, work)


def test_a_group_comes_out_as_it_went_in() -> None:
    done = GroupDone(list(enumerate(OUTCOMES)), 0.25)
    assert unpack_group(only(pack_group(done))) == done


@given(
    contents=st.lists(st.text(max_size=50), max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=6),
)
def test_parcels_arrive_whole_wherever_the_stream_is_cut(
    contents: list[str], cuts: list[int]
) -> None:
    stream = b"".join(pack(content) for content in contents)
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    parcels = Parcels()
    arrived = [
        content
        for start, end in pairwise(edges)
        for content in parcels.feed(stream[start:end])
    ]
    assert arrived == contents
