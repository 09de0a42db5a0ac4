"""The model's side: the same cases in `storage_schema` and `migrations.onetalk`."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from extension_harness.differential.comparing import PLACE
from extension_harness.differential.forms import (
    History,
    Outcome,
    Script,
    Step,
    Value,
    settled,
)
from migrations.onetalk import open_store
from storage_schema import Connection, Factory, Transaction, onetalk
from storage_schema.script import replay
from storage_schema.script.dumping import dump_of
from storage_schema.tagged import form_of, value_of


class ModelSide:
    """Runs cases in the model; each on an origin of its own."""

    def run_scripts(self, scripts: Sequence[Script]) -> list[Outcome]:
        """What the model gives for each; ``{"error": …}`` where it broke."""
        return [_unbroken(_script, script) for script in scripts]

    def run_histories(self, histories: Sequence[History]) -> list[Outcome]:
        """What the OneTalk store in the model's words does in each."""
        return [settled(_unbroken(_history, history)) for history in histories]


def _unbroken(run: Callable[[Any], Outcome], case: object) -> Outcome:
    try:
        return run(case)
    except Exception as broken:  # noqa: BLE001 - a model that breaks is a finding
        return {"error": f"the model broke: {broken!r}{PLACE}{_innermost(broken)}"}


def _innermost(broken: Exception) -> str:
    """Where it was raised: module file and function; lines move too easily."""
    frame = traceback.extract_tb(broken.__traceback__)[-1]
    return f"{Path(frame.filename).name}, {frame.name}()"


def _script(script: Script) -> Outcome:
    expect, dump = replay(script)
    return {"expect": expect, "dump": dump}


def _history(history: History) -> Outcome:
    factory = Factory()
    began = None if history["start"] is None else _begin(factory, history["start"])
    connection = open_store(factory)
    steps = [{"outcome": began, "dump": dump_of(connection, final=False)}]
    for call in history["calls"]:
        outcome = _call(connection, call["verb"], call["arguments"])
        dump = dump_of(connection, final=False)
        steps.append({"outcome": outcome, "dump": dump})
    return {"steps": steps}


def _begin(factory: Factory, start: Step) -> Outcome:
    """Make the old database; its ops cannot fail."""

    def make(connection: Connection, transaction: Transaction, *_: int) -> None:
        for op in start["upgrade"]:
            if op["op"] == "createStore":
                connection.create_object_store(op["name"], op["keyPath"])
                continue
            store = transaction.object_store(op["store"])
            if op["op"] == "createIndex":
                store.create_index(op["name"], op["keyPath"])
            else:
                keys.append(store.put(value_of(op["value"])).result)

    keys: list[Any] = []
    version = start["version"]
    name = onetalk.DATABASE_NAME
    factory.open(name, version, upgrade=make).result.close()
    given = iter(keys)
    ops = [
        {"ok": form_of(next(given)) if op["op"] == "put" else None}
        for op in start["upgrade"]
    ]
    return {"ok": version, "old": 0, "new": version, "tx": "complete", "ops": ops}


def _update_checkpoint(
    connection: Connection, account: str, conversation: str, fields: Value
) -> object:
    return onetalk.update_checkpoint(
        connection,
        account,
        conversation,
        lambda before: None if fields is None else {**before, **fields},
    )


SPECIAL: dict[str, Callable[..., object]] = {
    "updateCheckpoint": _update_checkpoint,
    "checkpointsOf": lambda *given: list(onetalk.checkpoints_of(*given)),
}


def _call(connection: Connection, verb: str, arguments: list[Any]) -> Outcome:
    function = SPECIAL.get(verb) or getattr(onetalk, _snake(verb))
    try:
        return {"ok": form_of(function(connection, *map(value_of, arguments)))}
    except onetalk.OneTalkStoreError as refused:
        return {"failed": refused.code}


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter.group().lower()}", name)
