"""Random cursor walks: moves, updates, deletions and writes on the way."""

from __future__ import annotations

from extension_harness.differential.believed import BelievedStore, KeyPath
from extension_harness.differential.forms import Op
from extension_harness.differential.operations import Operations

DIRECTIONS = ("next", "next", "nextunique", "prev", "prev", "prevunique")
MOVES = frozenset({"continue", "advance", "continuePrimaryKey"})
LIMIT = 12
"""Positions of one walk: writes ahead of a cursor could make it endless."""


class Walks:
    """Draws walks over one store or one of its indexes."""

    def __init__(self, operations: Operations) -> None:
        """Draw what happens on the way from ``operations``."""
        self._operations = operations
        self._values = operations.values
        self._draw = operations.values.draw

    def walk(self, name: str, store: BelievedStore, *, writable: bool) -> Op:
        """A cursor op."""
        chance = self._values.chance
        source, path = self._operations.source(name, store)
        op: Op = {"op": "cursor", **source}
        op |= self._operations.query(path, absent=0.6)
        direction = "sideways" if chance(0.01) else self._draw.choice(DIRECTIONS)
        op |= {"direction": direction, "limit": LIMIT}
        if chance(0.25):
            op["keyOnly"] = True

        def actions() -> list[Op]:
            wanted = self._draw.choice((0, 1, 1, 1, 2, 3))
            return self._in_order(
                [
                    self._action(name, store, source, path, writable=writable)
                    for _ in range(wanted)
                ]
            )

        if chance(0.65):
            op["program"] = [actions() for _ in range(self._draw.randint(1, 4))]
        if chance(0.25):
            op["every"] = actions()
        return op

    def _in_order(self, actions: list[Op]) -> list[Op]:
        """No request of its own and no stop after a move: their order is not said."""
        ordered: list[Op] = []
        for action in actions:
            moved = any(earlier["a"] in MOVES for earlier in ordered)
            late = moved and action["a"] in {"op", "stop"}
            ordered.append({"a": "continue"} if late else action)
        return ordered

    def _action(
        self,
        name: str,
        store: BelievedStore,
        source: Op,
        path: KeyPath,
        *,
        writable: bool,
    ) -> Op:
        at = self._draw.random() if writable else 0.6 + 0.4 * self._draw.random()
        if at < 0.6:
            return self._change(name, store, at)
        key = self._operations.key_for(path)
        if at < 0.72:
            return {"a": "continue", "key": key}
        if at < 0.82:
            return {"a": "advance", "n": self._draw.choice((1, 1, 2, 3, 0, 1.5, -1))}
        if at < (0.9 if "index" in source else 0.84):
            primary = self._operations.key_for(store.key_path)
            return {"a": "continuePrimaryKey", "key": key, "primaryKey": primary}
        if at < 0.92:
            return {"a": "stop"}
        if at < 0.93:
            return {"a": "op", "op": self._operations.read(name, store)}
        if at < 0.95 and not writable:
            return self._change(name, store, self._draw.random() * 0.45)
        return {"a": "continue"}

    def _change(self, name: str, store: BelievedStore, at: float) -> Op:
        if at < 0.28:
            field = self._draw.choice(("a", "b", "n", "tags", "id"))
            value = self._values.tags() if field == "tags" else self._values.field()
            return {"a": "update", "set": {field: value}, "catch": True}
        if at < 0.34:
            value = self._operations.record(store)
            caught = {"catch": True} if self._values.chance(0.8) else {}
            return {"a": "update", "value": value, **caught}
        if at < 0.48:
            return {"a": "delete"}
        if at < 0.55:
            return {
                "a": "op",
                "op": self._operations.write(name, store) | {"catch": True},
            }
        return {"a": "op", "op": self._operations.delete(name, store)}
