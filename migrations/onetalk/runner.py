"""Brings a database from any older version to a newer one: all steps, or none (OT-11).

All steps between run in the one versionchange transaction, oldest first. A step that
fails undoes the whole upgrade: the version never advances with work missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from migrations.onetalk import v07, v08, v09, v10
from migrations.onetalk.errors import (
    StoreNewerError,
    UnknownVersionError,
    UpgradeFailedError,
)
from storage_schema import AbortError, Connection, Factory, Transaction, VersionError
from storage_schema.onetalk.names import DATABASE_NAME, DATABASE_VERSION

Change = Callable[[Connection, Transaction], None]


@dataclass(frozen=True)
class Step:
    """One numbered step: what it starts from, what it makes, why, and how.

    `change` works inside the versionchange transaction and returns nothing.
    """

    from_version: int
    to_version: int
    why: str
    change: Change


STEPS: tuple[Step, ...] = (
    Step(v07.FROM, v07.TO, v07.WHY, v07.change),
    Step(v08.FROM, v08.TO, v08.WHY, v08.change),
    Step(v09.FROM, v09.TO, v09.WHY, v09.change),
    Step(v10.FROM, v10.TO, v10.WHY, v10.change),
)


def upgrade(
    connection: Connection,
    transaction: Transaction,
    old_version: int,
    new_version: int = DATABASE_VERSION,
    steps: Sequence[Step] = STEPS,
) -> None:
    """Runs the steps above `old_version`, up to `new_version`, in an upgrade.

    Raises:
        UpgradeFailedError: a step raised, or returned something; whoever opens the
            database has to let it abort.
    """
    for step in steps:
        if not old_version < step.to_version <= new_version:
            continue
        try:
            returned: object = step.change(connection, transaction)  # type: ignore[func-returns-value]
        except Exception as cause:
            raise UpgradeFailedError(
                old_version, step.to_version, str(cause) or type(cause).__name__
            ) from cause
        if returned is not None:
            raise UpgradeFailedError(
                old_version,
                step.to_version,
                "it returned something, and a step has to be synchronous",
            )


def open_store(
    factory: Factory,
    version: int = DATABASE_VERSION,
    *,
    steps: Sequence[Step] = STEPS,
    blocked: Callable[[int, int | None], object] | None = None,
    blocking: Callable[[int, int | None], object] | None = None,
    terminated: Callable[[], object] | None = None,
) -> Connection:
    """Opens the OneTalk store at `version`, after the steps that lead there.

    The last three are the model's own and go to `Factory.open` as they are.

    Raises:
        StoreNewerError: the database is newer; nothing was changed (OT-21).
        UpgradeFailedError: a step failed; the old version is whole, the cause is kept.
        UnknownVersionError: no step makes `version`.
        StillBlockedError: other connections hold the upgrade up.
        AbortError: the upgrade did not commit, as on a full disk; the old one is whole.
    """
    known = tuple(step.to_version for step in steps)
    if version not in known:
        raise UnknownVersionError(version, known)

    def run(
        connection: Connection, transaction: Transaction, old: int, new: int
    ) -> None:
        upgrade(connection, transaction, old, new, steps)

    opening = factory.open(
        DATABASE_NAME,
        version,
        upgrade=run,
        blocked=blocked,
        blocking=blocking,
        terminated=terminated,
    )
    try:
        return opening.result
    except VersionError as cause:
        found = factory.databases()[DATABASE_NAME]
        raise StoreNewerError(found, version) from cause
    except AbortError as cause:
        if isinstance(cause.__cause__, UpgradeFailedError):
            raise cause.__cause__ from cause.__cause__.__cause__
        raise
