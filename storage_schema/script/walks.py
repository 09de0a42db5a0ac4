"""Cursor walks: the positions that a cursor visits and what is done at each."""

from __future__ import annotations

from typing import Any, Final

from storage_schema.cursor import Cursor
from storage_schema.errors import DomError
from storage_schema.requests import Request
from storage_schema.script.operations import RAISED, issue, result_forms
from storage_schema.tagged.reading import Tagged, value_of
from storage_schema.tagged.writing import form_of
from storage_schema.transaction import Transaction
from storage_schema.values import UNDEFINED

MOST_VISITS: Final = 60


class Stopped(Exception):  # noqa: N818 - an end, not an error
    """The walk ends here with this outcome."""

    def __init__(self, outcome: Tagged, *, lives_on: bool = True) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.lives_on = lives_on


class Walk:
    """One walk of a cursor through its program."""

    def __init__(self, transaction: Transaction, op: Tagged) -> None:
        self._transaction = transaction
        self._op = op
        self._visits: list[Tagged] = []

    def run(self, opening: Request[Cursor | None]) -> tuple[Tagged, bool]:
        """The walk's outcome, and whether the transaction goes on."""
        move = opening
        try:
            while True:
                move = self._visit(self._arrived(move))
        except Stopped as end:
            return {**end.outcome, "visits": self._visits}, end.lives_on

    def _arrived(self, move: Request[Cursor | None]) -> Cursor:
        try:
            cursor = move.result
        except DomError as error:
            raise Stopped({"err": error.name}, lives_on=False) from error
        if cursor is None:
            raise Stopped({"ok": "end"})
        limit = self._op.get("limit")
        if len(self._visits) >= (MOST_VISITS if limit is None else limit):
            raise Stopped({"ok": "limit"})
        return cursor

    def _visit(self, cursor: Cursor) -> Request[Cursor | None]:
        program, number = self._op.get("program") or [], len(self._visits)
        here = number < len(program)
        actions = program[number] if here else self._op.get("every") or []
        visit = {"k": form_of(cursor.key), "p": form_of(cursor.primary_key)}
        if cursor.has_values:
            visit["v"] = form_of(cursor.value)
        self._visits.append(visit)
        if actions:
            visit["acts"] = []
        move: Request[Cursor | None] | None = None
        for action in actions:
            move = self._act(cursor, action, visit["acts"]) or move
        if move is not None:
            return move
        try:
            return cursor.continue_()
        except RAISED as error:
            raise Stopped({"ok": "stuck", "throw": error.name}) from error

    def _act(
        self, cursor: Cursor, action: Tagged, acts: list[Tagged]
    ) -> Request[Cursor | None] | None:
        """Do one action; gives the move, if it was one."""
        kind = action["a"]
        if kind == "stop":
            acts.append({"ok": None})
            raise Stopped({"ok": "stop"})
        try:
            if kind in ("continue", "advance", "continuePrimaryKey"):
                move = _moved(cursor, action)
                acts.append({"ok": None})
                return move
            request = self._changed(cursor, action)
        except RAISED as error:
            acts.append({"throw": error.name})
            return None
        if request is None:
            acts.append({"ok": None})
        else:
            self._settle(request, action, acts)
        return None

    def _changed(self, cursor: Cursor, action: Tagged) -> Request[Any] | None:
        match action["a"]:
            case "update":
                return cursor.update(_updated(cursor, action))
            case "delete":
                return cursor.delete()
        return issue(self._transaction, action["op"])

    def _settle(
        self, request: Request[Any], action: Tagged, acts: list[Tagged]
    ) -> None:
        inner = action.get("op") or {}
        caught = bool(action.get("catch") or inner.get("catch"))
        if caught:
            request.prevent_default()
        outcome = result_forms(request, str(inner.get("op", action["a"])))
        acts.append(outcome)
        lost = outcome.get("err")
        if lost is not None and (not caught or lost == "AbortError"):
            raise Stopped({"err": lost}, lives_on=False)


def _moved(cursor: Cursor, action: Tagged) -> Request[Cursor | None]:
    match action["a"]:
        case "continue" if "key" in action:
            return cursor.continue_(value_of(action["key"]))
        case "continue":
            return cursor.continue_()
        case "advance":
            return cursor.advance(value_of(action.get("n")))
    return cursor.continue_primary_key(
        value_of(action["key"]), value_of(action["primaryKey"])
    )


def _updated(cursor: Cursor, action: Tagged) -> object:
    if "set" not in action:
        return value_of(action["value"]) if "value" in action else UNDEFINED
    value = cursor.value if isinstance(cursor.value, dict) else {}
    return {**value, **value_of(action["set"])}
