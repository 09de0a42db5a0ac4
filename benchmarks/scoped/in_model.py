"""The same reads through the model's verbs: a child process that keeps two databases.

The first line of standard input is the plan; every further line is a round. One
database holds the account alone, the other everybody's records too.
"""

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from migrations.onetalk import open_store
from storage_schema import Connection, Factory
from storage_schema.onetalk import (
    list_pending_cards,
    list_pending_profiles,
    next_pending,
    pending_conversations,
)

_OF_TRANSACTION = 1000
Plan = dict[str, Any]


def filled(plan: Plan, accounts: list[str]) -> Connection:
    """A store of the present version with these accounts' records."""
    connection = open_store(Factory())
    for name, own in plan["own"].items():
        text = json.dumps(own)
        records = [
            record
            for account in accounts
            for record in json.loads(text.replace(plan["account"], account))
        ]
        for start in range(0, len(records), _OF_TRANSACTION):
            with connection.transaction([name], "readwrite") as transaction:
                store = transaction.object_store(name)
                for record in records[start : start + _OF_TRANSACTION]:
                    store.put(record)
    return connection


def reads(plan: Plan, connection: Connection) -> dict[str, Callable[[], list[Any]]]:
    """The verbs with their arguments, under their JavaScript names."""
    account, limit = plan["account"], plan["limit"]
    conversation = plan["conversation"]
    return {
        "pendingConversations": lambda: list(
            pending_conversations(connection, account, {"limit": limit, "after": None})
        ),
        "nextPending": lambda: list(
            next_pending(connection, account, conversation, limit)
        ),
        "listPendingCards": lambda: list(
            list_pending_cards(connection, account, {"limit": limit})
        ),
        "listPendingProfiles": lambda: list(
            list_pending_profiles(connection, account, {"limit": limit})
        ),
    }


def timed(plan: Plan, call: Callable[[], list[Any]]) -> dict[str, Any]:
    """Median milliseconds of one call, what it found, and its digest."""
    times: list[float] = []
    value: list[Any] = []
    for _ in range(plan["repeats"]):
        began = time.perf_counter()
        for _ in range(plan["calls"]):
            value = call()
        times.append((time.perf_counter() - began) * 1000 / plan["calls"])
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return {
        "verbMs": statistics.median(times),
        "found": len(value),
        "verbDigest": hashlib.sha256(text.encode()).hexdigest(),
    }


def main() -> None:
    """Fill both, say ready, and do a round for each line until there is none."""
    plan = json.loads(sys.stdin.readline())
    stores = {
        "alone": reads(plan, filled(plan, [plan["account"]])),
        "among": reads(plan, filled(plan, [plan["account"], *plan["others"]])),
    }
    print(json.dumps({"ready": True}), flush=True)
    for number, _ in enumerate(sys.stdin):
        report: dict[str, dict[str, Any]] = {"alone": {}, "among": {}}
        for read in plan["reads"]:
            for where in sorted(stores, reverse=bool(number % 2)):
                report[where][read] = timed(plan, stores[where][read])
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
