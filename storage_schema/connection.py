"""Connections: making transactions, changing the schema in an upgrade, closing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from storage_schema.conversions import is_truthy, sequence_of, to_text
from storage_schema.database import Database
from storage_schema.errors import (
    AbortError,
    ConstraintError,
    InvalidAccessError,
    InvalidStateError,
    JsTypeError,
    NotFoundError,
)
from storage_schema.key_generator import KeyGenerator
from storage_schema.key_paths import converted, parse
from storage_schema.names import in_order
from storage_schema.object_store import ObjectStore
from storage_schema.store_records import StoreRecords
from storage_schema.transaction import Mode, Transaction
from storage_schema.values import UNDEFINED

Blocking: TypeAlias = Callable[[int, int | None], object]
Terminated: TypeAlias = Callable[[], object]


class Connection:
    """An open database. See ``Factory.open`` for the two handlers."""

    __slots__ = (
        "_blocking",
        "_last_names",
        "_last_version",
        "_terminated",
        "database",
        "is_open",
        "upgrade",
    )

    def __init__(
        self,
        database: Database,
        blocking: Blocking | None,
        terminated: Terminated | None,
    ) -> None:
        """For ``Factory`` alone."""
        self.database = database
        self.is_open = True
        self.upgrade: Transaction | None = None
        self._blocking = blocking
        self._terminated = terminated
        self._last_names: tuple[str, ...] | None = None
        self._last_version = 0

    @property
    def name(self) -> str:
        """The database's name."""
        return self.database.name

    @property
    def version(self) -> int:
        """The version; after closing the one that was."""
        return self.database.version if self._last_names is None else self._last_version

    @property
    def object_store_names(self) -> tuple[str, ...]:
        """The names of the stores, in order; after closing those that were."""
        if self._last_names is not None:
            return self._last_names
        return in_order(self.database.stores)

    def transaction(self, stores: object, mode: object = "readonly") -> Transaction:
        """A transaction over a store or several.

        Raises ``JsTypeError`` for another mode, ``InvalidStateError`` on a closed
        connection and in an upgrade, ``NotFoundError`` for an unknown store,
        ``InvalidAccessError`` for none at all.
        """
        names = _names_in(stores)
        way = "readonly" if mode is UNDEFINED else to_text(mode)
        if way not in ("readonly", "readwrite", "versionchange"):
            raise _no_mode(mode)
        if not self.is_open:
            raise InvalidStateError(
                f"the connection to {self.name!r} is closed: reopen"
            )
        if self.upgrade is not None and not self.upgrade.is_finished:
            raise InvalidStateError("an upgrade is running: use its transaction")
        scope: dict[str, StoreRecords] = {}
        for name in names:
            records = self.database.stores.get(name)
            if records is None:
                raise NotFoundError(f"{self.name!r} has no object store {name!r}")
            scope[name] = records
        if not scope:
            raise InvalidAccessError("a transaction needs an object store")
        if way == "versionchange":
            raise _no_mode(mode)
        return self.begin(scope, "readwrite" if way == "readwrite" else "readonly")

    def begin(self, scope: dict[str, StoreRecords], mode: Mode) -> Transaction:
        """Make a transaction without asking. For the model alone."""
        transaction = Transaction(self, scope, mode)
        self.database.live.append(transaction)
        return transaction

    def create_object_store(
        self, name: object, key_path: object = None, auto_increment: object = False
    ) -> ObjectStore:
        """Make a store. Upgrades only.

        Raises ``SyntaxError_`` for a bad key path, ``ConstraintError`` for a name that
        is taken, ``InvalidAccessError`` for a generator with an empty or a compound
        path.
        """
        text, given = to_text(name), converted(key_path)
        tx = self._upgrading()
        path = None if key_path is None or key_path is UNDEFINED else parse(given)
        if text in self.database.stores:
            raise ConstraintError(f"there is an object store {text!r} already")
        generates = is_truthy(auto_increment)
        if generates and (path == "" or isinstance(path, tuple)):
            raise InvalidAccessError("a key generator needs one key path, or none")
        records = StoreRecords(text, path, KeyGenerator() if generates else None)
        self.database.stores[text] = records
        tx.undo.append((self.database.stores.pop, text))
        tx.undo.append((setattr, records, "is_deleted", True))
        return tx.object_store(text)

    def delete_object_store(self, name: object) -> None:
        """Remove a store and all in it; raises ``NotFoundError``. Upgrades only."""
        text, stores = to_text(name), self.database.stores
        tx = self._upgrading()
        records = stores.pop(text, None)
        if records is None:
            raise NotFoundError(f"there is no object store {text!r}")
        records.is_deleted = True
        tx.undo.append((stores.__setitem__, text, records))
        tx.undo.append((setattr, records, "is_deleted", False))

    def close(self) -> None:
        """Take no more transactions; closed for others once those here are over."""
        self._shut()
        self.database.let_go()

    def terminate(self) -> None:
        """Close by force: all aborts, the handler hears. For ``Factory`` alone."""
        if self not in self.database.connections:
            return
        was_open = self.is_open
        self._shut()
        for tx in [tx for tx in self.database.live if tx.connection is self]:
            tx.end_with(AbortError("the connection was closed by force"))
        self.database.let_go()
        if was_open and self._terminated is not None:
            self._terminated()

    def hear_of_upgrade(self, old: int, new: int | None) -> None:
        """Somebody wants this connection gone. For ``Factory`` alone."""
        if self.is_open and self._blocking is not None:
            self._blocking(old, new)

    def _shut(self) -> None:
        if self.is_open:
            self.is_open = False
            if self.upgrade is None or self.upgrade.is_finished:
                self.freeze()

    def freeze(self) -> None:
        """Keep the names and the version as they are now. For the model alone."""
        self._last_version = self.database.version
        self._last_names = in_order(self.database.stores)

    def _upgrading(self) -> Transaction:
        tx = self.upgrade
        if tx is None or tx.connection is not self:
            raise InvalidStateError("the schema changes in an upgrade only")
        tx.check_active()
        return tx


def _no_mode(mode: object) -> JsTypeError:
    return JsTypeError(f"{mode!r} is no mode: use readonly or readwrite")


def _names_in(stores: object) -> list[str]:
    """WebIDL's ``(DOMString or sequence<DOMString>)``."""
    several = sequence_of(stores)
    return [to_text(name) for name in ([stores] if several is None else several)]
