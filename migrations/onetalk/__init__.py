"""The upgrades of the OneTalk store, one step a file; HISTORY.md tells each."""

from __future__ import annotations

from migrations.onetalk.errors import (
    StoreNewerError,
    StoreOpenError,
    UnknownVersionError,
    UpgradeFailedError,
)
from migrations.onetalk.runner import STEPS, Step, open_store, upgrade

__all__ = [
    "STEPS",
    "Step",
    "StoreNewerError",
    "StoreOpenError",
    "UnknownVersionError",
    "UpgradeFailedError",
    "open_store",
    "upgrade",
]
