"""A whole old database as data, which browser and model are both made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from e2e.old_databases import ancient, records
from e2e.old_databases.others import OTHERS
from e2e.old_databases.shapes import (
    ANOMALIES,
    BOOTSTRAPS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
    NAME,
    PROFILES,
    shape_of,
)
from extension_harness.storage import DatabaseDump, Record


def described(version: int, amount: int = 5, cards: int = 5) -> DatabaseDump:
    """The database as this version had it (1, 6, 7, 8 or 9), other channels included.

    ``amount`` is the number of messages and candidates, ``cards`` that of cards, in
    each of the four conversations of the two accounts.
    """
    content = _content(version, amount, cards)
    stores = [
        *(replace(each, records=content[each.name]) for each in shape_of(version)),
        *OTHERS,
    ]
    return DatabaseDump(
        NAME,
        present=True,
        version=version,
        stores={each.name: each for each in sorted(stores, key=lambda one: one.name)},
    )


def _content(version: int, amount: int, cards: int) -> Mapping[str, tuple[Record, ...]]:
    if version < 7:
        return (ancient.version_1 if version == 1 else ancient.version_6)(amount)
    return {
        MESSAGES: records.messages(amount),
        CANDIDATES: records.candidates(amount),
        CHECKPOINTS: records.checkpoints(),
        ANOMALIES: records.anomalies(),
        PROFILES: records.profiles(),
        BOOTSTRAPS: records.bootstraps(),
        CARDS: records.cards(cards),
    }
