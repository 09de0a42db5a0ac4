"""The model's page and its content script."""

from __future__ import annotations

from random import Random

import pytest

from extension_harness.model.events import PageHello, PageObserved
from extension_harness.model.page import MAX_QUEUED, ModelPage
from extension_harness.model.truth import Truth

ACCOUNT = "2500000000001"


@pytest.fixture
def truth() -> Truth:
    return Truth(ACCOUNT)


@pytest.fixture
def page(truth: Truth) -> ModelPage:
    random = Random(7)  # noqa: S311 - chance, not secrecy
    return ModelPage(truth, tab_id=1, page_id="page-1", random=random)


def told(page: ModelPage, reply: int = 1) -> PageHello | PageObserved:
    message = page.next_message(reply)
    assert message is not None
    return message


def greet(page: ModelPage) -> None:
    assert isinstance(told(page), PageHello)
    page.replied({"known": True})


def test_it_greets_first_and_tells_again_until_stored(
    page: ModelPage, truth: Truth
) -> None:
    """OT-30: what no worker has stored is told again, the same, after a wait."""
    page.saw(truth.add("c1", 1))
    greet(page)
    first = told(page)
    assert page.next_message(2) is None, "one at a time"
    assert page.replied(None) > 0
    second = told(page, 3)
    assert second.body == first.body
    assert page.replied({"stored": False}) > 0
    told(page, 4)
    assert page.replied({"stored": True}) == 0
    assert not page.has_to_tell


def test_what_did_not_fit_is_named_in_the_next_greeting(
    page: ModelPage, truth: Truth
) -> None:
    """OT-43: of what was lost the worker hears before anything newer."""
    greet(page)
    for at_ms in range(MAX_QUEUED + 1):
        page.saw(truth.add("c1", at_ms + 1))
    assert told(page).body["lost"] == [[ACCOUNT, "c1"]]
    page.replied(None)
    assert told(page).body["lost"] == [[ACCOUNT, "c1"]]
    page.replied({"known": True})
    assert isinstance(told(page), PageObserved)


def test_history_is_asked_back_page_by_page(page: ModelPage, truth: Truth) -> None:
    """OT-44: a page holds what was sent at the cursor's time or before."""
    for at_ms in (1, 2, 2, 3):
        truth.add("c1", at_ms)
    ask = {"channelAccountId": ACCOUNT, "conversationId": "c1", "count": 2}
    newest = page.answer("history", {**ask, "cursor": None})["answer"]["page"]
    assert [row["sentAtMs"] for row in newest["observations"]] == [2, 3]
    assert newest["hasMore"] is True
    older = page.answer("history", {**ask, "cursor": 1})["answer"]["page"]
    assert [row["sentAtMs"] for row in older["observations"]] == [1]
    assert older["hasMore"] is False


def test_another_account_is_refused(page: ModelPage) -> None:
    """OT-65: a page answers for the account that it shows, and for no other."""
    body = {"channelAccountId": "other", "conversationId": "c1", "count": 2}
    assert page.answer("history", body)["error"]["code"] == "account_changed"


def test_a_list_that_is_not_whole_says_so(page: ModelPage, truth: Truth) -> None:
    """OT-05: early in its life a page has only the beginning of its list."""
    for name in ("c1", "c2"):
        truth.add(name, 1)
    page.list_size = 1
    listed = page.answer("conversations", {"channelAccountId": ACCOUNT})["answer"]
    assert len(listed["conversations"]) == 1
    assert listed["isWhole"] is False
