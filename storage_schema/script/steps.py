"""The steps of a script: connections, transactions, and what needs neither."""

from __future__ import annotations

from typing import Any

from storage_schema.connection import Connection
from storage_schema.errors import DataError, DomError, FormatError
from storage_schema.factory import Factory
from storage_schema.key_ranges import KeyRange
from storage_schema.keys import compare
from storage_schema.requests import Request
from storage_schema.script.dumping import dump_of
from storage_schema.script.operations import RAISED, issue, query_of, result_forms
from storage_schema.script.walks import Walk
from storage_schema.tagged.reading import Json, Tagged, value_of
from storage_schema.tagged.writing import form_of
from storage_schema.transaction import Transaction
from storage_schema.values import UNDEFINED


def replay(script: list[Tagged]) -> tuple[list[Json], dict[str, Json]]:
    """Run a script on an empty origin; gives the outcome of each step and the dump.

    Raises ``FormatError`` for what is no script.
    """
    runner = _Runner()
    outcomes = []
    for number, step in enumerate(script):
        try:
            outcomes.append(runner.step(step))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(
                f"step number {number} is not in the form of scripts "
                f"({type(error).__name__}: {error})"
            ) from error
    dumps = {label: dump_of(runner.connect(label), final=True) for label in runner.seen}
    return outcomes, dumps


class _Runner:
    """At most one connection a label, opened when it is needed."""

    def __init__(self) -> None:
        self._factory = Factory()
        self._connections: dict[str, Connection] = {}
        self.seen: list[str] = []

    def step(self, step: Tagged) -> Json:
        kind, label = step["do"], step.get("db") or "main"
        if kind == "cmp":
            return _compare_all([value_of(key) for key in step["keys"]])
        if kind == "range":
            return _range(step)
        if label not in self.seen:
            self.seen.append(label)
        match kind:
            case "open":
                return self._open(label, step)
            case "close":
                self._close(label)
                return {"ok": None}
            case "version":
                return {"ok": self._factory.databases().get(label, 0)}
            case "dump":
                return {"ok": dump_of(self.connect(label), final=False)}
            case "deleteDatabase":
                self._close(label)
                return {"ok": self._factory.delete_database(label).result}
            case "tx":
                return self._transact(label, step)
        raise FormatError(f"unknown step {kind!r}")

    def connect(self, label: str) -> Connection | None:
        """The connection of a label; None if there is no such database."""
        if label not in self._connections and label in self._factory.databases():
            self._connections[label] = self._factory.open(label).result
        return self._connections.get(label)

    def _close(self, label: str) -> None:
        connection = self._connections.pop(label, None)
        if connection is not None:
            connection.close()

    def _open(self, label: str, step: Tagged) -> Tagged:
        self._close(label)
        version = value_of(step["version"]) if "version" in step else UNDEFINED
        upgraded: list[tuple[_Run, int, int]] = []

        def upgrade(_: Connection, tx: Transaction, old: int, new: int) -> None:
            run = _Run(tx, step.get("upgrade", []), pipeline=_is_pipeline(step))
            upgraded.append((run, old, new))
            run.issue_all()

        try:
            request = self._factory.open(
                label, 0 if version is None else version, upgrade=upgrade
            )
        except RAISED as error:
            return {"throw": error.name}
        try:
            self._connections[label] = request.result
            outcome: Tagged = {"ok": request.result.version}
        except DomError as error:
            cause = error.__cause__
            if cause is not None and not isinstance(cause, RAISED):
                raise cause from error
            outcome = {"err": error.name}
        for run, old, new in upgraded:
            outcome |= {"old": old, "new": new, **run.outcome()}
        return outcome

    def _transact(self, label: str, step: Tagged) -> Tagged:
        connection = self.connect(label)
        if connection is None:
            return {"noconn": True}
        mode = value_of(step["mode"]) if "mode" in step else UNDEFINED
        try:
            tx = connection.transaction(value_of(step["stores"]), mode)
        except RAISED as error:
            return {"throw": error.name}
        run = _Run(tx, step.get("ops", []), pipeline=_is_pipeline(step))
        run.issue_all()
        tx.finish()
        return run.outcome()


class _Run:
    """The ops of one transaction, issued one after another or all at once."""

    def __init__(
        self, transaction: Transaction, ops: list[Tagged], *, pipeline: bool
    ) -> None:
        self._transaction = transaction
        self._ops = ops
        self._pipeline = pipeline
        self._outcomes: list[Tagged] = [{"skip": True} for _ in ops]
        self._issued: list[tuple[int, Request[Any]]] = []

    def issue_all(self) -> None:
        """Issue the ops; the transaction's end is for the caller."""
        for number, op in enumerate(self._ops):
            try:
                request = issue(self._transaction, op)
            except RAISED as error:
                self._outcomes[number] = {"throw": error.name}
                continue
            if request is None:
                self._outcomes[number] = {"ok": None}
            elif not self._settled(number, op, request):
                break

    def outcome(self) -> Tagged:
        """What came of the transaction and of each op."""
        for number, request in self._issued:
            kind = self._ops[number]["op"]
            self._outcomes[number] = result_forms(request, kind)
        tx = self._transaction
        if not tx.has_aborted:
            return {"tx": "complete", "ops": self._outcomes}
        name = tx.error.name if tx.error is not None else None
        return {"tx": "abort", "txerr": name, "ops": self._outcomes}

    def _settled(self, number: int, op: Tagged, request: Request[Any]) -> bool:
        """Whether the next op is issued."""
        caught = bool(op.get("catch"))
        if caught:
            request.prevent_default()
        if self._pipeline:
            self._issued.append((number, request))
            return True
        if op["op"] == "cursor":
            walk = Walk(self._transaction, op)
            self._outcomes[number], lives_on = walk.run(request)
            return lives_on
        outcome = self._outcomes[number] = result_forms(request, op["op"])
        lost = outcome.get("err")
        return lost is None or (caught and lost != "AbortError")


def _is_pipeline(step: Tagged) -> bool:
    return bool(step.get("pipeline"))


def _compare_all(keys: list[object]) -> Tagged:
    return {"ok": ["".join(_compare(a, b) for b in keys) for a in keys]}


def _compare(first: object, second: object) -> str:
    try:
        return "<=>"[compare(first, second) + 1]
    except DataError:
        return "!"


def _range(step: Tagged) -> Tagged:
    try:
        made = query_of(step["query"])
    except RAISED as error:
        return {"throw": error.name}
    if not isinstance(made, KeyRange):
        raise FormatError("a range step needs a query that is a range")
    outcome: Tagged = {
        "lower": form_of(made.lower),
        "upper": form_of(made.upper),
        "lowerOpen": made.lower_open,
        "upperOpen": made.upper_open,
    }
    if "includes" in step:
        outcome["includes"] = [_includes(made, key) for key in step["includes"]]
    return {"ok": outcome}


def _includes(made: KeyRange, key: Json) -> bool | Tagged:
    try:
        return made.includes(value_of(key))
    except DataError as error:
        return {"throw": error.name}
