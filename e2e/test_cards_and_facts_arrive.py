"""Cards as the page drew them, and facts about buyers, come to Bright whatever dies.

One rig for all of it. A click on a conversation draws its cards and asks for its buyer;
each claim ends with Bright's tables held against what the page showed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.proof import prove
from e2e.rigs import SHORT, running_rig, shorten_alarm
from e2e.store_rows import BUYER_FACTS, CARDS
from extension_harness.errors import WaitTimeoutError
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.surroundings import LedgerCard
from extension_harness.rig import Rig
from extension_harness.tab import Page
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until

CARDS_SENT, FACTS_SENT = "card.rendered.observed", "buyer.facts.observed"
CHOOSE = """aliId => {
  const row = document.querySelector(`.contact-item-container[data-ali-id="${aliId}"]`);
  row?.click();
  return Boolean(row);
}"""
DRAWN = {"inquiry", "product_card", "order_card", "quote_card", "address_card"}
NEWEST = 12
"""Rows of a conversation that are surely in the document after a click."""
Facts = dict[str, Any]


@pytest.fixture(scope="module")
def shared(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, Page]]:
    corpus = Corpus.generate(seed=31, conversations=8, messages=260)
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(chromium, folder, corpus, **SHORT) as made:
        shorten_alarm(made, 1)
        yield made, made.open_page()
        prove(made)


@pytest.fixture
def rig(shared: tuple[Rig, Page]) -> Iterator[Rig]:
    """The rig; afterwards Bright has every card and fact that the page showed."""
    rig, _ = shared
    yield rig
    rig.proxy.clear()
    try:
        wait_until(lambda: is_told(rig), 40, "cards and facts at Bright", every=0.3)
    except WaitTimeoutError:
        assert cards_at_bright(rig) == drawn(rig)
        assert facts_at_bright(rig) == rig.page.ledger.facts()
        raise


def is_told(rig: Rig) -> bool:
    store = rig.extension_store()
    return (
        cards_at_bright(rig) == drawn(rig)
        and facts_at_bright(rig) == rig.page.ledger.facts()
        and {row["status"] for row in store.records(CARDS)} <= {"confirmed"}
        and all(
            row["uploadedFingerprint"] == row["fingerprint"]
            for row in store.records(BUYER_FACTS)
        )
    )


def cards_at_bright(rig: Rig) -> dict[tuple[str, str, str], Any]:
    rows = rig.server.dump().of("renderedCard")
    assert {row["channelAccountId"] for row in rows} <= {rig.page.corpus.account}
    return {
        (row["conversationId"], row["messageId"], row["cardKind"]): row["content"]
        for row in rows
    }


def drawn(rig: Rig) -> dict[tuple[str, str, str], Any]:
    return {
        (card.conversation_id, card.message_id, card.card_kind): card.content()
        for card in rig.page.ledger.cards()
    }


def facts_at_bright(rig: Rig) -> dict[str, Facts]:
    rows = rig.server.dump().of("buyerFacts")
    return {row["conversationId"]: row["facts"] for row in rows}


def choose(shared: tuple[Rig, Page], place: int, *, has_cards: bool) -> str:
    """Click a conversation whose newest rows have a card, or none; gives its id."""
    rig, page = shared
    newest: dict[str, list[str]] = {}
    for row in sorted(rig.page.ledger.expected(), key=lambda each: -each.sent_at_ms):
        newest.setdefault(row.conversation_id, []).append(row.kind)
    chats = [
        each
        for each in rig.page.corpus.conversations
        if each.visible
        and each.complete_ids
        and bool(DRAWN & set(newest[each.conversation_id][:NEWEST])) is has_cards
    ]
    page.wait_for(CHOOSE, chats[place].buyer_id)
    return chats[place].conversation_id


def cards_of(rig: Rig, chat: str) -> list[LedgerCard]:
    return [each for each in rig.page.ledger.cards() if each.conversation_id == chat]


def test_what_a_conversation_shows_arrives(shared: tuple[Rig, Page], rig: Rig) -> None:
    """OT-90: cards and facts, cleaned, each confirmed by an ACK of its own kind."""
    chat = choose(shared, 0, has_cards=True)
    wait_until(lambda: cards_of(rig, chat), 40, "a card", every=0.2)
    wait_until(lambda: chat in rig.page.ledger.facts(), 40, "its facts", every=0.2)
    wait_until(lambda: is_told(rig), 40, "cards and facts at Bright", every=0.3)
    assert "[redacted]" in str(cards_at_bright(rig))
    assert set(facts_at_bright(rig)) == {chat}


def test_killed_between_a_cards_write_and_its_send(
    shared: tuple[Rig, Page], rig: Rig
) -> None:
    """OT-90, OT-91: durable first; another worker finds by the index what waits."""
    with rig.worker.trap(Trap.before_send(CARDS_SENT), "hold") as armed:
        chat = choose(shared, 1, has_cards=True)
        armed.wait(60)
        assert not any(key[0] == chat for key in cards_at_bright(rig))
        armed.kill()
    wait_until(
        lambda: any(key[0] == chat for key in cards_at_bright(rig)),
        60,
        "the cards",
        every=0.3,
    )


def test_killed_between_the_send_of_facts_and_their_ack(
    shared: tuple[Rig, Page], rig: Rig
) -> None:
    """OT-70: facts have no index; what is pending is found by the checkpoints' keys."""
    with rig.worker.trap(Trap.after_send(FACTS_SENT), "hold") as armed:
        chat = choose(shared, 0, has_cards=False)
        armed.wait(60)
        wait_until(lambda: chat in facts_at_bright(rig), 40, "the facts", every=0.2)
        armed.kill()
    wait_until(lambda: told(rig, chat) > 1, 60, "the facts again", every=0.3)


def test_killed_before_the_durable_write_of_either(
    shared: tuple[Rig, Page], rig: Rig
) -> None:
    """OT-90: what is not on disk is not sent; the page tells it again."""
    with rig.worker.trap(Trap.written(BUYER_FACTS)) as armed:
        chat = choose(shared, 1, has_cards=False)
        armed.wait(60)
        assert told(rig, chat) == 0
    wait_until(lambda: chat in facts_at_bright(rig), 60, "the facts", every=0.3)


def told(rig: Rig, chat: str) -> int:
    """How often the facts of a conversation passed the proxy."""
    return sum(
        (frame.body or {})["conversationId"] == chat
        for frame in rig.proxy.seen(FACTS_SENT)
    )
