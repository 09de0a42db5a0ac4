"""What no store can keep is refused before anything is reserved (MS-21, MS-30)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bright_server.commit.records import FrozenDelivery
from bright_server.errors import StoreUnavailable
from bright_server.stores.storable import LARGEST_NUMBER, check_storable
from bright_server.testing.sends import candidate_of, sending

SEND = sending("m1")
CANDIDATE = candidate_of(SEND)
DELIVERY = FrozenDelivery(group="g", member_version=1)


def refused(words: str, **changed: object) -> None:
    given: dict[str, Any] = {"request": SEND, "delivery": DELIVERY} | {
        "candidate": CANDIDATE,
        **changed,
    }
    with pytest.raises(StoreUnavailable, match=words):
        check_storable(**given)


def test_ms_21_what_fits_its_types_is_taken() -> None:
    check_storable(SEND, DELIVERY, CANDIDATE)
    check_storable(SEND, FrozenDelivery(inline=False), CANDIDATE)


@pytest.mark.parametrize("number", [1.5, 1.0, float("nan"), True, "1", 2**53 + 1])
def test_ms_21_a_number_that_is_none_is_refused_before_it_is_reserved(
    number: object,
) -> None:
    """Reserved, it would be a hole for ever: no later step could write it."""
    content: Any = replace(SEND.content, sent_at_ms=number)  # type: ignore[arg-type]
    refused(r"content\.sent_at_ms", request=replace(SEND, content=content))
    for name in ("created_at_ms", "history_expires_at_ms"):
        changed: dict[str, Any] = {name: number}
        refused(name, candidate=replace(CANDIDATE, **changed))
    version: Any = number
    refused("member_version", delivery=replace(DELIVERY, member_version=version))


@pytest.mark.parametrize("text", [5, True, b"x", "half \ud800", "nul \x00"])
def test_ms_30_a_text_that_is_none_is_refused_with_its_place(text: object) -> None:
    given: Any = text
    refused(r"\.reply_to", request=replace(SEND, reply_to=given))
    refused(r"\.mentions\.1", request=replace(SEND, mentions=("bob", given)))
    refused(r"key\.sender", request=replace(SEND, key=replace(SEND.key, sender=given)))


def test_ms_30_a_truth_that_is_none_is_refused() -> None:
    inline: Any = 1
    refused("inline", delivery=replace(DELIVERY, inline=inline))


def test_ms_21_the_largest_number_is_one() -> None:
    content = replace(SEND.content, sent_at_ms=LARGEST_NUMBER)
    check_storable(replace(SEND, content=content), DELIVERY, CANDIDATE)
