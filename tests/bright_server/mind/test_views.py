"""How a message is shown: the contact's card is filled in when it is read (OT-86)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bright_server.commit.groups import ObservedProfiles
from bright_server.messages import (
    ContactProfile,
    ConversationKey,
    Grant,
    ObservedProfile,
    StoredMessage,
)
from bright_server.mind.views import message_view, message_views
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID
from tests.bright_server.stores.sqlite.works import (
    KEY,
    OTHER,
    batch,
    observed,
    records,
)

MARKER = {"version": 1, "kind": "business_card"}
MARKER_TEXT = '{"kind":"business_card","version":1}'
CARD = observed(1)._replace(kind="business_card", text=None, content=MARKER_TEXT)
STORED = StoredMessage(KEY, 4, CARD)
WEI = ContactProfile("3500000000002", 77, '{"name":"Wei"}')


def test_ot_86_a_business_card_is_shown_with_the_contacts_current_profile() -> None:
    """OT-86: composed into the view; the marker is still there."""
    assert message_view(STORED, WEI) == {
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "messageId": str(FIRST_ID + 1),
        "sequence": 4,
        "senderId": "3500000000002",
        "direction": "inbound",
        "sentAtMs": FIRST_ID + 1,
        "kind": "business_card",
        "content": {
            **MARKER,
            "contactProfile": {
                "aliId": "3500000000002",
                "observedAtMs": 77,
                "profile": {"name": "Wei"},
            },
        },
    }


def test_ot_86_without_a_profile_the_marker_stays() -> None:
    """OT-86: the marker alone."""
    assert message_view(STORED, None)["content"] == MARKER


def test_ot_86_of_a_business_card_nothing_but_the_marker_is_ever_shown() -> None:
    """OT-86: also where whoever sent it did not keep to the marker."""
    more = CARD._replace(content='{"kind":"business_card","phone":"+49","version":1}')

    assert message_view(StoredMessage(KEY, 4, more), None)["content"] == MARKER


def test_ot_86_the_signed_in_users_own_profile_is_never_a_contacts() -> None:
    """OT-86: not even if a page showed it in the conversation's place."""
    own = replace(WEI, ali_id=ACCOUNT)

    assert message_view(STORED, own)["content"] == MARKER


@given(st.sampled_from(["text", "image", "product_card", "unheard_of"]))
def test_ot_86_no_other_kind_of_message_has_a_profile_in_it(kind: str) -> None:
    """OT-86: only business cards are composed; the rest is as it was said."""
    said = observed(1, kind=kind, content='{"a":[1]}', quote='{"messageId":"1"}')

    view = message_view(StoredMessage(KEY, 1, said), WEI)

    assert view["content"] == {"a": [1]}
    assert view["quote"] == {"messageId": "1"}
    assert view == message_view(StoredMessage(KEY, 1, said), None)


async def test_ot_86_a_view_has_the_profile_of_the_moment_and_the_store_the_marker(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-86: by (account, conversation); a newer profile shows in old messages."""

    async def shown(key: ConversationKey) -> list[object]:
        views = await message_views(store.messages, grant, key, 0, 10)
        assert views is not None
        return [view.get("content") for view in views]

    async def learn(at_ms: int, name: str, conversation: str = CONVERSATION) -> None:
        said = ObservedProfile(conversation, "9", at_ms, "f", f'{{"name":"{name}"}}')
        await store.commit_group([ObservedProfiles(grant, ACCOUNT, [said])])

    await store.commit_group(
        [batch(grant, CARD, observed(2)), batch(grant, CARD, key=OTHER)]
    )
    assert await shown(KEY) == [MARKER, None]
    names = []
    for at_ms, name in ((10, "first"), (20, "second"), (15, "late")):
        await learn(at_ms, name)
        card, nothing = await shown(KEY)
        assert nothing is None
        assert isinstance(card, dict)
        names.append(card["contactProfile"]["profile"]["name"])

    assert names == ["first", "second", "second"]
    assert await shown(OTHER) == [MARKER]
    stored = [each["content"] for each in records(settings, "message")]
    assert stored == [MARKER, None, MARKER]


async def test_ot_60_an_account_out_of_scope_is_not_shown(
    store: SqliteStore, grant: Grant
) -> None:
    """OT-60: a binding sees its own accounts only."""
    theirs = ConversationKey("another", CONVERSATION)
    await store.commit_group([batch(grant, observed(1), key=theirs)])

    assert await message_views(store.messages, grant, theirs, 0, 10) is None
