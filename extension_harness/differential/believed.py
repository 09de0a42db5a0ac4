"""What a generator believes the database to hold: it aims with it, and may be wrong.

A belief is wrong after a transaction that aborted unforeseen; a script that then names
what is not there is as good as another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

KeyPath: TypeAlias = str | list[str] | None


@dataclass(frozen=True)
class BelievedIndex:
    """An index by what it looks at."""

    key_path: KeyPath
    unique: bool = False
    multi_entry: bool = False


@dataclass(frozen=True)
class BelievedStore:
    """An object store and its indexes by name."""

    key_path: KeyPath
    auto_increment: bool = False
    indexes: dict[str, BelievedIndex] = field(default_factory=dict)

    def copy(self) -> BelievedStore:
        """One whose indexes change apart from this one's."""
        return BelievedStore(self.key_path, self.auto_increment, dict(self.indexes))


Stores: TypeAlias = dict[str, BelievedStore]


def copied(stores: Stores) -> Stores:
    """The stores as they are now."""
    return {name: store.copy() for name, store in stores.items()}
