"""Rows that cannot be messages: inserted among the valid ones, each one an anomaly."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from extension_harness.page import words
from extension_harness.page.draft import Draft
from extension_harness.page.truth import Conversation, Fault

# code, fault, variant: docs/simulated-page.md says what each variant looks like.
_INVALID = (
    ("M01", Fault.NO_ID, 0),
    ("M01", Fault.NO_ID, 1),
    ("M01", Fault.BAD_ID, 0),
    ("M01", Fault.BAD_ID, 1),
    ("M28", Fault.BAD_TIME, 0),
    ("M28", Fault.BAD_TIME, 1),
    ("M28", Fault.BAD_TIME, 2),
    ("M28", Fault.BAD_TIME, 3),
    ("M28", Fault.BAD_TIME, 4),
    ("M29", Fault.NO_SENDER, 0),
    ("M29", Fault.NO_SENDER, 1),
    ("M36", Fault.FOREIGN, 0),
    ("M36", Fault.FOREIGN, 1),
    ("M36", Fault.NOT_AN_OBJECT, 0),
    ("M36", Fault.NOT_AN_OBJECT, 1),
    ("M36", Fault.NOT_AN_OBJECT, 2),
)


def insert(
    rng: random.Random,
    chats: Sequence[Conversation],
    drafts: Mapping[str, list[Draft]],
    messy: frozenset[str],
) -> None:
    """Insert the invalid rows of the wanted codes, in place, never as the newest row.

    They stand right behind a valid message in time, so that a page that ends with one
    still has a cursor.
    """
    homes = [chat for chat in chats if len(drafts[chat.conversation_id]) > 1]
    if not homes:
        return
    for code, fault, variant in _INVALID:
        if code not in messy or (fault is Fault.FOREIGN and len(chats) < 2):
            continue
        chat = rng.choice(homes)
        rows = drafts[chat.conversation_id]
        place = rng.randrange(len(rows) - 1)
        rows.insert(place + 1, _invalid(rng, rows[place], fault, variant, code))


def _invalid(
    rng: random.Random, after: Draft, fault: Fault, variant: int, code: str
) -> Draft:
    draft = replace(
        after,
        fault=fault,
        fault_variant=variant,
        quote=None,
        recalled=False,
        edited_text=None,
        time_spelling="ms",
        id_field="messageId",
        content_spelling="string",
        codes={code},
    )
    draft.write_text(words.sentence(rng))
    if fault is Fault.NO_SENDER and variant == 1:
        draft.kind, draft.page_type = "system", 9999
    return draft
