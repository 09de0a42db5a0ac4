"""The instants at which a service worker can be stopped, as values.

A `Trap` names one: "before the second ``observation.batch`` is sent", "when the
transaction over ``rows`` is complete and nobody has heard of it". `Worker.trap` sets
it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Point = Literal[
    "transaction",
    "write",
    "written",
    "committed",
    "schema",
    "before_send",
    "after_send",
    "received",
    "message",
]

SchemaChange = Literal[
    "createObjectStore", "deleteObjectStore", "createIndex", "deleteIndex"
]


@dataclass(frozen=True)
class Trap:
    """An instant in the worker's life; counted anew in each life.

    Attributes:
        point: Which of the wrapped points.
        kind: The ``type`` of a frame or message; for writes put, add, delete or clear;
            for the schema the method's name.
        stores: Object stores that must all be among the transaction's.
        mode: Of the transaction.
        fields: Values that the frame, message or record must have at its top level.
        nth: Which occurrence, from 1.
        after: What must have been passed before counting begins.
    """

    point: Point
    kind: str | None = None
    stores: tuple[str, ...] = ()
    mode: Literal["readonly", "readwrite", "versionchange"] | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    nth: int = 1
    after: "Trap | None" = None

    @classmethod
    def transaction(cls, *stores: str) -> "Trap":
        """As a readwrite transaction is asked for, before it exists."""
        return cls("transaction", stores=stores, mode="readwrite")

    @classmethod
    def write(cls, store: str, kind: str | None = None) -> "Trap":
        """Before a put, add, delete or clear, inside its transaction."""
        return cls("write", kind=kind, stores=(store,))

    @classmethod
    def written(cls, store: str, kind: str | None = None) -> "Trap":
        """At such a request's success, its transaction not yet complete."""
        return cls("written", kind=kind, stores=(store,))

    @classmethod
    def committed(cls, *stores: str) -> "Trap":
        """At a readwrite transaction's ``complete``, before anybody hears of it."""
        return cls("committed", stores=stores, mode="readwrite")

    @classmethod
    def schema(cls, kind: SchemaChange, store: str) -> "Trap":
        """In an upgrade, before a change of this object store's shape.

        For ``createIndex`` the store's records are read into the index after this, by
        the browser, before the upgrade is complete.
        """
        return cls("schema", kind=kind, stores=(store,), mode="versionchange")

    @classmethod
    def before_send(cls, kind: str | None = None) -> "Trap":
        """As a frame is to be sent, before a byte of it is."""
        return cls("before_send", kind=kind)

    @classmethod
    def after_send(cls, kind: str | None = None) -> "Trap":
        """When ``send`` has returned."""
        return cls("after_send", kind=kind)

    @classmethod
    def received(cls, kind: str | None = None) -> "Trap":
        """When a frame has come and the first listener is about to read it."""
        return cls("received", kind=kind)

    @classmethod
    def message(cls, kind: str | None = None) -> "Trap":
        """When a runtime message is delivered, before the extension's listener.

        Works in lives that begin while the trap is armed: the listeners of a worker
        that already runs were registered before.
        """
        return cls("message", kind=kind)

    def times(self, nth: int) -> "Trap":
        """The same at its ``nth`` occurrence."""
        return replace(self, nth=nth)

    def where(self, **fields: object) -> "Trap":
        """The same for content with these top-level values."""
        return replace(self, fields={**self.fields, **fields})

    def then(self, following: "Trap") -> "Trap":
        """``following``, counted from the moment that this one was passed."""
        if following.after is None:
            return replace(following, after=self)
        return replace(following, after=self.then(following.after))

    def steps(self) -> list[dict[str, Any]]:
        """What the injected script is called with."""
        before = self.after.steps() if self.after is not None else []
        return [
            *before,
            {
                "point": self.point,
                "kind": self.kind,
                "stores": list(self.stores),
                "mode": self.mode,
                "fields": dict(self.fields),
                "nth": self.nth,
            },
        ]

    def __str__(self) -> str:
        what = " ".join(filter(None, [self.point, self.kind, *self.stores]))
        nth = f" (occurrence {self.nth})" if self.nth > 1 else ""
        return f"{self.after}, then {what}{nth}" if self.after else what + nth


@dataclass(frozen=True)
class Hit:
    """The instant came: at which point, and the frame's type or the stores."""

    point: str
    kind: str | None
    stores: tuple[str, ...]
