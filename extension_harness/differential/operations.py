"""Random operations on records: writes, reads, deletions, and their queries."""

from __future__ import annotations

import random

from extension_harness.differential.believed import BelievedStore, KeyPath, Stores
from extension_harness.differential.forms import UNDEFINED, Op, Value, num
from extension_harness.differential.values import BAD_KEYS, Values

READS = ("get", "get", "getKey", "getAll", "getAllKeys", "getAllKeys", "count")
COUNTS = (1, 2, 3, 0, 2**32 - 1, 1.9, "2")
BAD_COUNTS = (-1, 2**32, num("NaN"), num("Infinity"))
SINGLE_ENDED = ("lowerBound", "upperBound")


class Operations:
    """Draws operations on the stores that are believed to exist."""

    def __init__(self, values: Values) -> None:
        """Draw keys and values from ``values``."""
        self.values = values
        self._draw: random.Random = values.draw
        self._chance = values.chance

    def record(self, store: BelievedStore) -> Value:
        """A value that fits the store's key path, nearly always."""
        path, values = store.key_path, self.values
        if path == "":
            return values.key()
        if self._chance(0.08 if path is None else 0.02):
            return values.whole()
        made: dict[str, Value] = {}
        if self._chance(0.35 if store.auto_increment else 0.95):
            made["id"] = values.key()
        for name, probability in (("a", 0.9), ("b", 0.75)):
            if self._chance(probability):
                made[name] = values.field()
        if self._chance(0.95 if path == "c.x" and not store.auto_increment else 0.6):
            made["c"] = self._holder()
        if self._chance(0.5):
            made["tags"] = values.tags()
        if self._chance(0.04):
            made["odd"] = values.whole()
        return made

    def _holder(self) -> Value:
        if self._chance(0.9):
            return {"x": self.values.field()}
        return self._draw.choice(([None], None, 5, "s", {}, [1], {"y": 1}, {"x": {}}))

    def write(self, name: str, store: BelievedStore) -> Op:
        """An add or a put."""
        op: Op = {"op": self._draw.choice(("add", "add", "put", "put", "put"))}
        op |= {"store": name, "value": self.record(store)}
        wants_key = store.key_path is None
        explicit = (0.4 if store.auto_increment else 0.96) if wants_key else 0.02
        if self._chance(explicit):
            op["key"] = self.values.key()
        if self._chance(0.75):
            op["catch"] = True
        return op

    def delete(self, name: str, store: BelievedStore) -> Op:
        """A deletion by key or range."""
        query = self.query(store.key_path, required=True)
        return {"op": "delete", "store": name, **query}

    def source(self, name: str, store: BelievedStore) -> tuple[Op, KeyPath]:
        """The members that say where to read, and the key path of what is there."""
        if store.indexes and self._chance(0.55):
            label = self._draw.choice(sorted(store.indexes))
            return {"store": name, "index": label}, store.indexes[label].key_path
        if self._chance(0.01):
            return {"store": name, "index": "nowhere"}, None
        return {"store": name}, store.key_path

    def read(self, name: str, store: BelievedStore) -> Op:
        """One read request."""
        source, path = self.source(name, store)
        kind = self._draw.choice(READS)
        op = {"op": kind, **source}
        op |= self.query(path, required=kind in {"get", "getKey"})
        if self._chance(0.1):
            op["catch"] = True
        if not kind.startswith("getAll"):
            return op
        if isinstance(op.get("query", {}).get("key"), dict):
            # A plain object there is a record of options, and so are its likes.
            op["query"] = {"only": op["query"]["key"]}
        if self._chance(0.3):
            op["count"] = self._draw.choice(BAD_COUNTS if self._chance(0.1) else COUNTS)
        return op

    def key_for(self, path: KeyPath) -> Value:
        """A key such as the path yields."""
        if isinstance(path, list):
            return [self.values.usual() for _ in path]
        if path and path.endswith("length"):
            return self._draw.randint(0, 3)
        return self.values.key()

    def query(
        self, path: KeyPath, *, required: bool = False, absent: float = 0.3
    ) -> Op:
        """The member ``query``, or nothing where a method takes none."""
        if not required and self._chance(absent):
            return {}
        if self._chance(0.03):
            return {"query": {"key": self._draw.choice((None, UNDEFINED, *BAD_KEYS))}}
        if isinstance(path, list) and len(path) > 1 and self._chance(0.4):
            return {"query": self._under_prefix(path)}
        return {"query": self.range(path)}

    def range(self, path: KeyPath) -> Op:
        """A key or a key range over what the path yields."""
        kinds = ("key", "key", "only", "bound", "bound", *SINGLE_ENDED)
        kind, low = self._draw.choice(kinds), self.key_for(path)
        if kind in {"key", "only"}:
            return {kind: low}
        if kind in SINGLE_ENDED:
            return {kind: [low, self._chance(0.3)]}
        high = self.key_for(path)
        numbers = isinstance(low, int | float) and isinstance(high, int | float)
        if numbers and low > high and self._chance(0.85):
            low, high = high, low
        flags = [self._chance(0.3), self._chance(0.3)]
        return {kind: [low, high, *flags] if self._chance(0.8) else [low, high]}

    def _under_prefix(self, path: list[str]) -> Op:
        head = [
            self.values.usual() for _ in path[: self._draw.randint(1, len(path) - 1)]
        ]
        low = self._draw.choice(([], [num("-Infinity")]))
        high: Value = self._draw.choice(([], num("Infinity"), "\uffff", [[]]))
        return {"bound": [head + low, [*head, high]]}

    def any(self, stores: Stores, name: str, *, writable: bool) -> Op:
        """An operation that is no walk."""
        store, at = stores[name], self._draw.random()
        if at < (0.55 if writable else 0.04):
            return self.write(name, store)
        if at < (0.63 if writable else 0.07):
            return self.delete(name, store)
        if at < (0.65 if writable else 0.08):
            return {"op": "clear", "store": name}
        return self.read(name, store)
