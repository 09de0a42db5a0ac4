"""Op-scripts, each made from one seed: the same seed makes the same script."""

from __future__ import annotations

import random

from extension_harness.differential.believed import Stores, copied
from extension_harness.differential.forms import (
    UNDEFINED,
    Op,
    Script,
    Step,
    Value,
    num,
    with_dumps,
)
from extension_harness.differential.operations import Operations
from extension_harness.differential.schemas import Schemas
from extension_harness.differential.values import (
    BAD_KEYS,
    BEYOND,
    NAMES,
    ODD_KEYS,
    Values,
)
from extension_harness.differential.walks import Walks

ODD_VERSIONS: tuple[Value, ...] = (
    *(0, -1, 1.5, "3", None, True, num("NaN"), num("Infinity"), 2**53, 2**53 - 1),
    *({"$": "bigint", "v": "2"}, {"$": "symbol"}, UNDEFINED, [7], {}),
)
MODES: tuple[Value, ...] = ("readonly", "versionchange", "readwriteflush", "", None)


def generate(seed: int) -> Script:
    """The script of this seed, with a dump after every step that may change a thing."""
    return with_dumps(_Maker(seed).steps())


class _Maker:
    """Makes one script, step by step."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(f"script/{seed}")  # noqa: S311 - no secret
        self._values = Values(self._draw)
        self._operations = Operations(self._values)
        self._walks = Walks(self._operations)
        self._schemas = Schemas(self._values)
        self._version = 0
        self._chance = self._values.chance

    @property
    def _stores(self) -> Stores:
        return self._schemas.stores

    def steps(self) -> Script:
        """A first opening with data, then whatever comes."""
        made = [self._first_open()]
        for _ in range(self._draw.randint(2, 5)):
            made += self._next()
        return made

    def _next(self) -> Script:
        at = self._draw.random()
        if not self._stores or at < 0.24:
            return [self._upgrade()]
        if at < 0.86:
            return [self._transaction()]
        if at < 0.89:
            return [{"do": "deleteDatabase"}, self._first_open()]
        if at < 0.91:
            return [{"do": "open", "version": max(1, self._version - 1)}]
        if at < 0.93:
            return [{"do": "close"}, {"do": "open"}]
        if at < 0.94:
            return [{"do": "open", "version": self._draw.choice(ODD_VERSIONS)}]
        if at < 0.95:
            return [{"do": "version"}]
        return [self._aside()]

    def _aside(self) -> Step:
        """A step that needs no database of its own, or another database."""
        at = self._draw.random()
        pool = (*ODD_KEYS, *BEYOND, *BAD_KEYS)
        if at < 0.4:
            return {"do": "cmp", "keys": self._draw.sample(pool, 7)}
        if at < 0.8:
            step: Step = {"do": "range", "query": self._operations.range(self._path())}
            if "key" in step["query"]:
                step["query"] = {"only": step["query"]["key"]}
            return step | {"includes": self._draw.sample(pool, 5)}
        if at < 0.9:
            return {"do": "tx", "db": "absent", "stores": ["s1"], "ops": []}
        ops = [{"op": "createStore", "name": "s1", "autoIncrement": True}]
        ops += [{"op": "put", "store": "s1", "value": self._values.whole()}]
        return {"do": "open", "db": "other", "version": 1, "upgrade": ops}

    def _path(self) -> str | list[str] | None:
        return self._draw.choice(("id", ["a", "b"]))

    def _first_open(self) -> Step:
        self._stores.clear()
        ops = [self._schemas.create_store() for _ in range(self._draw.randint(1, 2))]
        for name in sorted(self._stores):
            wanted = self._draw.randint(0, 3)
            ops += [self._schemas.create_index(name) for _ in range(wanted)]
        for _ in range(self._draw.randint(3, 10) if self._stores else 0):
            name = self._draw.choice(sorted(self._stores))
            ops.append(
                self._operations.write(name, self._stores[name]) | {"catch": True}
            )
        self._version = self._draw.choice((1, 1, 2, 7))
        return {"do": "open", "version": self._version, "upgrade": ops}

    def _upgrade(self) -> Step:
        before = copied(self._stores)
        ops: list[Op] = []
        pipeline = self._chance(0.25)
        for _ in range(self._draw.randint(1, 6)):
            if self._chance(0.6) or not self._stores:
                ops.append(self._schemas.change())
            else:
                ops.append(
                    self._data(sorted(self._stores), writable=True, pipeline=pipeline)
                )
        step: Step = {
            "do": "open",
            "version": self._version + self._draw.choice((1, 1, 3)),
        }
        step["upgrade"] = ops
        if pipeline:
            step["pipeline"] = True
        if self._chance(0.12):
            ops.insert(self._draw.randint(len(ops) // 2, len(ops)), {"op": "abort"})
            self._stores.clear()
            self._stores.update(before)
            return step
        if self._chance(0.05) and not pipeline and not _makes_index(ops):
            ops.append({"op": "commit"})
        self._version = step["version"]
        return step

    def _transaction(self) -> Step:
        names = sorted(self._stores)
        scope = names if self._chance(0.7) else [self._draw.choice(names)]
        writable, pipeline = self._chance(0.8), self._chance(0.25)
        ops = [
            self._data(scope, writable=writable, pipeline=pipeline)
            for _ in range(self._draw.randint(1, 9))
        ]
        if self._chance(0.03):
            ops.append(self._schemas.change())
        if self._chance(0.1):
            ops.insert(self._draw.randint(len(ops) // 2, len(ops)), {"op": "abort"})
        elif self._chance(0.04) and not pipeline:
            ops.insert(self._draw.randint(len(ops) // 2, len(ops)), {"op": "commit"})
        step: Step = {"do": "tx", "stores": self._scope(scope), "ops": ops}
        if writable or self._chance(0.5):
            step["mode"] = "readwrite" if writable else "readonly"
        if self._chance(0.02):
            step["mode"] = self._draw.choice(MODES)
        if pipeline:
            step["pipeline"] = True
        return step

    def _scope(self, scope: list[str]) -> Value:
        if self._chance(0.02):
            return self._draw.choice(([], [*scope, "nowhere"], *NAMES))
        if len(scope) == 1 and self._chance(0.2):
            return scope[0]
        return scope + scope[:1] if self._chance(0.03) else scope

    def _data(self, scope: list[str], *, writable: bool, pipeline: bool) -> Op:
        name = self._draw.choice(scope)
        if not pipeline and self._chance(0.18 if writable else 0.45):
            return self._walks.walk(name, self._stores[name], writable=writable)
        return self._operations.any(self._stores, name, writable=writable)


def _makes_index(ops: list[Op]) -> bool:
    """Chromium's renderer crashes on a commit() right after a createIndex()."""
    return any(op["op"] == "createIndex" for op in ops)
