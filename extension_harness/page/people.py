"""The conversations of the corpus and the people in them."""

from __future__ import annotations

import random
from dataclasses import replace

from extension_harness.page import words
from extension_harness.page.truth import Conversation, normal_conversation_id

SUB_ACCOUNTS = ("2500000000777", "2500000000888")


def conversations(
    rng: random.Random, count: int, account: str, messy: frozenset[str]
) -> list[Conversation]:
    """Return `count` conversations, the first ones carrying the messy inputs."""
    made = [_ordinary(rng, number, account) for number in range(count)]
    return _with_messy(made, messy)


def _ordinary(rng: random.Random, number: int, account: str) -> Conversation:
    buyer = _buyer_id(rng, number)
    name = words.person(rng)
    return Conversation(
        number=number,
        conversation_id=normal_conversation_id(account, buyer, ""),
        seller_id=account,
        buyer_id=buyer,
        seller_first=rng.random() < 0.5,
        suffix="#11011",
        name=name,
        company=f"{rng.choice(words.COMPANIES)} {number % 50}",
        login_id=f"us15{number:08d}abcd",
        account_id=str(244_000_001 + number),
        country=rng.choice(words.COUNTRIES),
        level=f"L{rng.randrange(1, 5)}",
        unread=rng.randrange(1, 4) if number % 23 == 5 else 0,
    )


def _buyer_id(rng: random.Random, number: int) -> str:
    """Return an id of 10 to 13 digits: the number says nothing about the role."""
    leading = rng.choice((22, 25, 35, 45, 55))
    digits = rng.choice((10, 13, 13, 13))
    return f"{leading}{number:05d}{rng.randrange(10**8):08d}"[:2] + (
        f"{number:0{digits - 5}d}{rng.randrange(1000):03d}"
    )


def _with_messy(made: list[Conversation], messy: frozenset[str]) -> list[Conversation]:
    for index, (code, changes) in enumerate(_changes(made)):
        # The first conversation, the largest, stays as it is for the page-edge cases.
        place = 1 + index
        if code not in messy or place >= len(made):
            continue
        old = made[place]
        made[place] = replace(old, codes=old.codes | {code}, **changes)  # type: ignore[arg-type]
        made[place] = _identified(made[place])
    return made


def _identified(conversation: Conversation) -> Conversation:
    identity = normal_conversation_id(
        conversation.seller_id, conversation.buyer_id, conversation.suffix
    )
    return replace(conversation, conversation_id=identity)


def _changes(made: list[Conversation]) -> list[tuple[str, dict[str, object]]]:
    shared = made[0].name if made else ""
    return [
        ("M31", {"seller_id": SUB_ACCOUNTS[0]}),
        ("M32", {"name": shared}),
        ("M33", {"company": words.JUNK_COMPANIES[5]}),
        ("M34", {"visible": False}),
        ("M34", {"muted": True, "complete_ids": False}),
        ("M34", {"blocked": True}),
        ("M34", {"group": True, "suffix": "#22022"}),
        ("M31", {"seller_id": SUB_ACCOUNTS[1]}),
        ("M33", {"company": words.JUNK_COMPANIES[0]}),
        ("M32", {"name": shared}),
    ]
