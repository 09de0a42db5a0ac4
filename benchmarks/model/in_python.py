"""A contender of `bright bench model`: the work done by `storage_schema`.

A child process: the plan's file comes as the first line of standard input. Only the
operations are timed; what they left and gave is counted and digested between them.
"""

import hashlib
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from storage_schema import Connection, Factory, KeyRange, Transaction

DATABASE = "bench"
Part = dict[str, Any]


class Contender:
    """One database, and the plan of what is done to it."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._factory = Factory()

    def run(self) -> dict[str, Part]:
        """Do all parts; of each its seconds, a count and a digest."""
        connection = self._factory.open(DATABASE, 1, upgrade=self._create).result
        puts = self._puts(connection)
        reads = self._reads(connection)
        connection.close()
        return {"puts": puts, "reads": reads, "upgrade": self._upgrade()}

    def _create(
        self, connection: Connection, _: Transaction, __: int, ___: int | None
    ) -> None:
        store = connection.create_object_store(
            self._plan["store"], key_path=self._plan["keyPath"]
        )
        for name, key_path in self._plan["indexes"].items():
            store.create_index(name, key_path)

    def _puts(self, connection: Connection) -> Part:
        name = self._plan["store"]
        began = time.perf_counter()
        for records in self._plan["transactions"]:
            with connection.transaction([name], "readwrite") as transaction:
                store = transaction.object_store(name)
                for record in records:
                    store.put(record)
        seconds = time.perf_counter() - began
        return {"seconds": seconds, **self._entries(connection, self._plan["indexes"])}

    def _reads(self, connection: Connection) -> Part:
        digest, seconds, hits = hashlib.sha256(), 0.0, 0
        name = self._plan["store"]
        began = time.perf_counter()
        with connection.transaction([name], "readonly") as transaction:
            store = transaction.object_store(name)
            indexes = {one: store.index(one) for one in self._plan["indexes"]}
            seconds += time.perf_counter() - began
            for index, lower, upper in self._plan["reads"]:
                began = time.perf_counter()
                found = indexes[index].get_all(KeyRange.bound(lower, upper)).result
                seconds += time.perf_counter() - began
                hits += len(found)
                digest.update(_text(found))
        return {"seconds": seconds, "counted": hits, "digest": digest.hexdigest()}

    def _upgrade(self) -> Part:
        began = time.perf_counter()
        connection = self._factory.open(DATABASE, 2, upgrade=self._add).result
        seconds = time.perf_counter() - began
        return {"seconds": seconds, **self._entries(connection, self._plan["added"])}

    def _add(
        self, _: Connection, transaction: Transaction, __: int, ___: int | None
    ) -> None:
        store = transaction.object_store(self._plan["store"])
        for name, key_path in self._plan["added"].items():
            store.create_index(name, key_path)

    def _entries(self, connection: Connection, indexes: dict[str, Any]) -> Part:
        """What the indexes hold: primary keys in index order."""
        digest, counted = hashlib.sha256(), 0
        name = self._plan["store"]
        with connection.transaction([name], "readonly") as transaction:
            for index in indexes:
                store = transaction.object_store(name)
                keys = store.index(index).get_all_keys().result
                counted += len(keys)
                digest.update(_text(keys))
        return {"counted": counted, "digest": digest.hexdigest()}


def _text(values: object) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def main() -> None:
    """Prepare, say ready, wait for the word, do everything, report."""
    config = json.loads(sys.stdin.readline())
    contender = Contender(json.loads(Path(config["plan"]).read_bytes()))
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    report = {"parts": contender.run(), "runtime": platform.python_version()}
    print(json.dumps(report), flush=True)
    sys.stdin.readline()  # stay until measured


if __name__ == "__main__":
    main()
