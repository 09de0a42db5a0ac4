"""What opening the OneTalk store can end in, with the extension's codes.

    StorageModelError
    └── StoreOpenError          `code`: stable, snake_case
        ├── StoreNewerError     a newer version wrote the database (OT-21)
        ├── UpgradeFailedError  a step failed; the database is at its old version, whole
        └── UnknownVersionError this build has no step that makes that version

The cause, where there is one, is kept.
"""

from __future__ import annotations

from typing import ClassVar

from storage_schema.errors import StorageModelError


class StoreOpenError(StorageModelError):
    """The store was not opened; nothing in it was changed."""

    code: ClassVar[str] = "store_unavailable"


class StoreNewerError(StoreOpenError):
    """The database has a newer version than this build knows (OT-21).

    There is no way back by an older build: `found` stays, and nothing was changed.
    """

    code = "store_newer"

    def __init__(self, found: int, build: int) -> None:
        super().__init__(
            f"The store is at version {found}; this build knows up to {build}. "
            f"Nothing was changed. Use the build that wrote it, or ship what this "
            f"build does as version {found + 1} (docs/upgrading-the-store.md); never "
            f"publish {build} again and never clear the store."
        )
        self.found = found
        self.build = build


class UpgradeFailedError(StoreOpenError):
    """The step to version `to` failed; the whole upgrade is undone."""

    code = "upgrade_failed"

    def __init__(self, old_version: int, to: int, detail: str) -> None:
        super().__init__(
            f"The store stays at version {old_version}, whole: the step to version "
            f"{to} failed ({detail}). The next opening tries again; mend the step."
        )
        self.old_version = old_version
        self.to = to


class UnknownVersionError(StoreOpenError):
    """The version asked for is made by none of the steps."""

    code = "version_unknown"

    def __init__(self, version: int, known: tuple[int, ...]) -> None:
        super().__init__(
            f"No step makes version {version}; there are steps to {known}. "
            "Open at one of these."
        )
        self.version = version
        self.known = known
