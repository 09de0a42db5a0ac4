"""Hold a store against the ledger: pure functions over two lists of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from extension_harness.page.records import (
    COMPARED,
    IDENTITY,
    OPTIONAL,
    AnomalyComparison,
    Comparison,
    Difference,
    LedgerAnomaly,
    LedgerMessage,
    Scope,
)

Row = Mapping[str, object]


def compare_messages(
    expected: Mapping[Scope, Sequence[LedgerMessage]],
    required: frozenset[Scope],
    rows: Iterable[Row],
) -> Comparison:
    """Compare stored rows with the accepted versions of each expected message.

    A scope that is expected and not `required` may be absent. Fields that only one side
    can know (read flags, `raw`, sequence numbers) are not looked at; None and an absent
    field are the same.
    """
    seen: set[Scope] = set()
    matched = 0
    unexpected: list[Row] = []
    different: list[Difference] = []
    duplicates: list[Scope] = []
    for row in rows:
        scope = _scope(row)
        if scope in seen:
            duplicates.append(scope)
            continue
        seen.add(scope)
        versions = expected.get(scope)
        if not versions:
            unexpected.append(row)
        elif difference := _difference(scope, versions, row):
            different.append(difference)
        else:
            matched += 1
    lacking = required - seen
    missing = tuple(expected[scope][0] for scope in expected if scope in lacking)
    return Comparison(
        matched, missing, tuple(unexpected), tuple(different), tuple(duplicates)
    )


def _scope(row: Row) -> Scope:
    account, conversation, message = (str(row.get(name)) for name in IDENTITY)
    return account, conversation, message


def _difference(
    scope: Scope, versions: Sequence[LedgerMessage], row: Row
) -> Difference | None:
    nearest: Difference | None = None
    for version in versions:
        wanted = version.as_dict()
        names = tuple(
            name
            for name in (*COMPARED, *OPTIONAL)
            if not _same(wanted.get(name), row.get(name))
        )
        if not names:
            return None
        if nearest is None:
            nearest = Difference(
                scope,
                names,
                {name: wanted.get(name) for name in names},
                {name: row.get(name) for name in names},
            )
    return nearest


def _same(left: object, right: object) -> bool:
    """JSON equality: true is not 1, key order does not matter."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(
            _same(left[key], right[key]) for key in left
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def compare_anomalies(
    expected: Iterable[LedgerAnomaly], rows: Iterable[Row]
) -> AnomalyComparison:
    """Compare anomaly records `{code, conversationId, messageId?}` with the ledger.

    One invalid row may rightly leave several records, one for each surface that showed
    it. So the n certain anomalies of a code and conversation need at least n records,
    and every record needs an anomaly that explains it.
    """
    known: Counter[tuple[object, object]] = Counter()
    anomalies = list(expected)
    stored = list(rows)
    counts = Counter(map(_place, stored))
    matched = 0
    missing: list[LedgerAnomaly] = []
    for anomaly in anomalies:
        key = (anomaly.code, anomaly.conversation_id)
        known[key] += 1
        if known[key] <= counts[key]:
            matched += 1
        elif anomaly.certain:
            missing.append(anomaly)
    unexpected = tuple(row for row in stored if _place(row) not in known)
    return AnomalyComparison(matched, tuple(missing), unexpected)


def _place(row: Row) -> tuple[object, object]:
    """Code and conversation; none may be written "", which an index can hold."""
    return row.get("code"), row.get("conversationId") or None
