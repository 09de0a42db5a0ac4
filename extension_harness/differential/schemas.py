"""Random changes of a schema: stores and indexes made, renamed, deleted."""

from __future__ import annotations

from collections.abc import Callable

from extension_harness.differential.believed import (
    BelievedIndex,
    BelievedStore,
    KeyPath,
    Stores,
)
from extension_harness.differential.forms import UNDEFINED, Op, Value
from extension_harness.differential.values import NAMES, Values

STORE_PATHS: tuple[KeyPath, ...] = (
    *("id", "id", ["a", "id"], ["a", "b", "id"], "c.x", None, None, "", ["id"]),
)
INDEX_PATHS: tuple[KeyPath, ...] = (
    *("a", "b", "c.x", ["a", "b"], ["a", "c.x"], ["b", "id"], "tags", "tags", "id"),
    *(
        "a.length",
        "tags.length",
        ["a", "tags"],
        "",
        ["a"],
        "c",
        "c.x.length",
        ["a", "a"],
    ),
)
BAD_PATHS: tuple[Value, ...] = (
    *("a b", "a..b", ".a", "1a", "a.", [], ["a", ""], ["a", "b c"], [["a"]], 5, True),
    *(UNDEFINED, None, {}, {"$": "symbol"}),
)
BAD_STORE_PATHS: tuple[Value, ...] = (
    *("a b", "a..b", ".a", "1a", [], ["a", "b c"], [["a"]], 5, True, {}),
)


class Schemas:
    """Draws schema ops and keeps the belief of what they make."""

    def __init__(self, values: Values) -> None:
        """Begin with no store."""
        self._values = values
        self._draw = values.draw
        self.stores: Stores = {}
        self._made = 0

    def _fresh(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}{self._made}"

    def create_store(self) -> Op:
        """A new store; seldom one that cannot be."""
        chance = self._values.chance
        path = self._draw.choice(STORE_PATHS)
        counted = chance(0.4) if path in ("id", "c.x", None) else chance(0.02)
        name = self._fresh("s")
        op: Op = {"op": "createStore", "name": name}
        if path is not None or chance(0.1):
            op["keyPath"] = path
        if counted:
            op["autoIncrement"] = True
        if chance(0.03):
            return op | {"keyPath": self._draw.choice(BAD_STORE_PATHS)}
        if chance(0.03):
            taken = sorted(self.stores) or [name]
            return op | {"name": self._draw.choice((*taken, *NAMES))}
        if not (counted and (path == "" or isinstance(path, list))):
            self.stores[name] = BelievedStore(path, counted)
        return op

    def create_index(self, name: str) -> Op:
        """A new index of the store."""
        chance = self._values.chance
        path = self._draw.choice(INDEX_PATHS)
        many = not isinstance(path, list) and chance(0.75 if path == "tags" else 0.12)
        unique = chance(0.3)
        label = self._fresh("i")
        op: Op = {"op": "createIndex", "store": name, "name": label, "keyPath": path}
        if unique:
            op["unique"] = True
        if many or chance(0.02):
            op["multiEntry"] = True
        if chance(0.03):
            return op | {"keyPath": self._draw.choice(BAD_PATHS)}
        if chance(0.03):
            taken = sorted(self.stores[name].indexes)
            return op | {"name": self._draw.choice((*taken, *NAMES))}
        if many or "multiEntry" not in op:
            index = BelievedIndex(path, unique, many)
            self.stores[name].indexes[label] = index
        return op

    def change(self) -> Op:
        """Any schema op."""
        names = sorted(self.stores)
        at = self._draw.random()
        if not names or at < 0.22:
            return self.create_store()
        name = self._draw.choice(names)
        if at < 0.52:
            return self.create_index(name)
        if at < 0.61:
            del self.stores[name]
            return {"op": "deleteStore", "name": name}
        if at < 0.72:
            return self._rename_store(name)
        labels = sorted(self.stores[name].indexes)
        if not labels:
            return self.create_index(name)
        act: Callable[[str, str], Op] = (
            self._delete_index if at < 0.86 else self._rename_index
        )
        return act(name, self._draw.choice(labels))

    def _rename_store(self, name: str) -> Op:
        op: Op = {"op": "renameStore", "store": name}
        others = [other for other in sorted(self.stores) if other != name]
        if self._values.chance(0.15):
            to = self._draw.choice((name, *others, *NAMES))
            if to != name:
                return op | {"to": to}
        else:
            to = self._fresh("t")
        self.stores[to] = self.stores.pop(name)
        return op | {"to": to}

    def _delete_index(self, name: str, label: str) -> Op:
        if self._values.chance(0.05):
            label = "nowhere"
        self.stores[name].indexes.pop(label, None)
        return {"op": "deleteIndex", "store": name, "name": label}

    def _rename_index(self, name: str, label: str) -> Op:
        indexes = self.stores[name].indexes
        op: Op = {"op": "renameIndex", "store": name, "name": label}
        if self._values.chance(0.15):
            to = self._draw.choice((label, *sorted(indexes), *NAMES))
            if to != label:
                return op | {"to": to}
        else:
            to = self._fresh("j")
        indexes[to] = indexes.pop(label)
        return op | {"to": to}
