"""Random keys and values: from small pools, so that what is written meets again."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from extension_harness.differential.forms import (
    UNDEFINED,
    Value,
    binary,
    date,
    num,
    sparse,
    units,
)

NUMBERS: Sequence[Value] = (1, 2, 3, 4, 5, 6)
STRINGS: Sequence[Value] = ("a", "b", "c", "aa", "ab", "")
ODD_KEYS: Sequence[Value] = (
    *(0, 1, 2, 2.5, -1, 1e300, 5e-324, 2**53, 2**53 - 1),
    *(num("Infinity"), num("-Infinity")),
    *(date(0), date(5), date(-1), date(1.9)),
    *("", "a", "b", "A", "a\u0000", "é", "e\u0301", "\uffff", "\U0001f600", "\ue000"),
    *(units(0xD800), units(0xDC00, 0x61), {"$": "repeat", "v": "xy", "n": 300}),
    *(binary(""), binary("00"), binary("ff"), binary("0102")),
    *(binary("0102", "Uint8Array", 2), binary("0100", "Uint16Array")),
    *(binary("0102", "DataView"), binary("000000000000f03f", "Float64Array")),
    *(
        [],
        [1],
        [2],
        ["a"],
        ["a", 1],
        [1, "a"],
        [[]],
        [date(1)],
        [[1], [2]],
        [1, [2, []]],
    ),
    *([binary("00")], {"$": "nest", "v": 1, "n": 12}),
)
"""Valid keys of every kind, the ends of each kind among them. Not -0: see BEYOND."""
BEYOND: Sequence[Value] = (num("-0"), [num("-0")], [1, [num("-0")]])
"""Keys compared, never stored: whether Chromium finds a stored -0 by 0 depends on
whether its files were compacted since, so one script has two outcomes."""
BAD_KEYS: Sequence[Value] = (
    *(num("NaN"), None, True, False, {"x": 1}, [None], [num("NaN")], [1, UNDEFINED]),
    *(date("NaN"), {"$": "bigint", "v": "1"}, UNDEFINED, {"$": "regexp", "v": "a"}),
    *(sparse(2, (1, "hole")), {"$": "box", "v": 1}, {"$": "box", "v": "s"}),
    *(
        {"$": "map", "v": []},
        {"$": "set", "v": [1]},
        {"$": "symbol"},
        {"$": "function"},
    ),
    *(
        {"$": "detached"},
        {"$": "arr", "id": 1, "n": 1, "v": [[0, {"$": "ref", "v": 1}]]},
    ),
)
"""What is no valid key, each for a reason of its own."""
ODD_VALUES: Sequence[Value] = (
    *(None, True, UNDEFINED, num("NaN"), {"deep": [num("-0")]}, date("NaN"), date(7.5)),
    *({"$": "bigint", "v": "-90071992547409931"}, units(0x61, 0xD83D)),
    *({"$": "map", "v": [[1, "a"], [{"k": 1}, [2]], [num("NaN"), None]]},),
    *({"$": "set", "v": ["x", 1, {"y": 2}]}, {"$": "regexp", "v": "a+b", "f": "gi"}),
    *(
        {"$": "box", "v": "text"},
        {"$": "box", "v": False},
        {"$": "box", "v": num("-0")},
    ),
    *(binary("01020304", "Int16Array", 2), binary("", "Uint8Array"), binary("7f")),
    *({"$": "obj", "v": [["$", 1], ["__proto__", {"x": 1}]]},),
    *({"$": "obj", "v": [[units(0xDFFF), 1], ["a", 2]]}, sparse(4, (0, 1), (2, "x"))),
    *(sparse(1, (0, 5), ("extra", 6)), sparse(3), {"$": "nest", "v": {"a": 1}, "n": 9}),
    {"$": "obj", "id": 1, "v": [["self", {"$": "ref", "v": 1}]]},
    [{"$": "arr", "id": 1, "n": 1, "v": [[0, 3]]}, {"$": "ref", "v": 1}],
)
"""What can be cloned and stored, and is not plain JSON."""
UNCLONABLE: Sequence[Value] = (
    *({"$": "function"}, {"$": "symbol"}, {"$": "detached"}),
)
"""What is a DataCloneError."""
NAMES: Sequence[Value] = (
    *("", " ", "name", "__proto__", "名前", "\U0001f600", units(0xD800)),
    *(None, 7, True, UNDEFINED, [1, 2], num("-0")),
)
"""Names of stores and indexes: each is converted with ToString."""


class Values:
    """Draws keys and values. The same generator in the same state gives the same."""

    def __init__(self, draw: random.Random) -> None:
        """Choose this script's pool of keys."""
        self.draw = draw
        pools: Sequence[Callable[[], Sequence[Value]]] = (
            lambda: NUMBERS,
            lambda: STRINGS,
            lambda: (*NUMBERS, *STRINGS),
            lambda: draw.sample(ODD_KEYS, 6),
            lambda: draw.sample(ODD_KEYS, 14),
        )
        self.pool: Sequence[Value] = draw.choice(pools)()

    def chance(self, probability: float) -> bool:
        """True this often."""
        return self.draw.random() < probability

    def usual(self) -> Value:
        """A valid key of this script's pool."""
        return self.draw.choice(self.pool)

    def key(self) -> Value:
        """A key; now and then an odd one, or none at all."""
        if self.chance(0.03):
            return self.draw.choice(BAD_KEYS)
        return self.usual() if self.chance(0.85) else self.draw.choice(ODD_KEYS)

    def field(self) -> Value:
        """A property that an index may look at: often a key, sometimes no valid one."""
        at = self.draw.random()
        if at < 0.72:
            return self.usual()
        if at < 0.85:
            return self.draw.choice(ODD_KEYS)
        if at < 0.95:
            return self.draw.choice([bad for bad in BAD_KEYS if not unclonable(bad)])
        return self.draw.choice(ODD_VALUES)

    def tags(self) -> Value:
        """What a multiEntry index looks at: usually an array of keys."""
        if self.chance(0.12):
            return self.field()
        found = [
            self.usual() if self.chance(0.85) else self.field()
            for _ in range(self.draw.randint(0, 4))
        ]
        if found and self.chance(0.06):
            return sparse(len(found) + 1, *enumerate(found))
        return found

    def whole(self) -> Value:
        """A value that is no record: scalars, collections, what cannot be cloned."""
        if self.chance(0.06):
            return self.draw.choice(UNCLONABLE)
        return self.draw.choice(self.draw.choice((ODD_VALUES, ODD_KEYS)))


def unclonable(value: Value) -> bool:
    """Whether the value itself cannot be cloned."""
    return isinstance(value, dict) and value.get("$") in {
        "function",
        "symbol",
        "detached",
    }
