"""The operations of a transaction: each is issued as a program would."""

from __future__ import annotations

from typing import Any

from storage_schema.conversions import is_truthy
from storage_schema.errors import DomError, FormatError, JsTypeError
from storage_schema.key_ranges import KeyRange
from storage_schema.object_store import ObjectStore
from storage_schema.requests import Request
from storage_schema.source import Source
from storage_schema.tagged.reading import Json, Tagged, value_of
from storage_schema.tagged.writing import form_of
from storage_schema.transaction import Transaction
from storage_schema.values import UNDEFINED

RAISED = (DomError, JsTypeError)
"""What a call raises that JavaScript would see."""


def query_of(form: Json) -> Json:
    """The query that a script writes; raises ``DataError`` as making a range does."""
    if form is None or form is UNDEFINED:
        return UNDEFINED
    ((kind, given),) = form.items()
    if kind == "key":
        return value_of(given)
    if kind == "only":
        return KeyRange.only(value_of(given))
    if kind == "bound":
        flags = [is_truthy(flag) for flag in given[2:4]]
        return KeyRange.bound(value_of(given[0]), value_of(given[1]), *flags)
    make = KeyRange.lower_bound if kind == "lowerBound" else KeyRange.upper_bound
    return make(value_of(given[0]), len(given) > 1 and is_truthy(given[1]))


def issue(transaction: Transaction, op: Tagged) -> Request[Any] | None:
    """Issue an op: its request, None if it is done at once. Raises as the call does."""
    kind = op["op"]
    if kind == "abort":
        transaction.abort()
    elif kind == "commit":
        transaction.commit()
    elif kind in ("createStore", "deleteStore"):
        _change_stores(transaction, op)
    else:
        store = transaction.object_store(_given(op, "store"))
        if kind in ("renameStore", "createIndex", "deleteIndex", "renameIndex"):
            _change_indexes(store, op)
        else:
            return _request(store, op)
    return None


def result_forms(request: Request[Any], kind: str) -> Tagged:
    """The outcome of a request that ended; lists member by member."""
    try:
        result = request.result
    except DomError as error:
        return {"err": error.name}
    if kind in ("getAll", "getAllKeys"):
        return {"ok": [form_of(member) for member in result]}
    return {"ok": form_of(result)}


def _given(op: Tagged, name: str) -> Json:
    return value_of(op[name]) if name in op else UNDEFINED


def _change_stores(transaction: Transaction, op: Tagged) -> None:
    connection = transaction.connection
    if op["op"] == "deleteStore":
        connection.delete_object_store(_given(op, "name"))
        return
    connection.create_object_store(
        _given(op, "name"), _given(op, "keyPath"), _given(op, "autoIncrement")
    )


def _change_indexes(store: ObjectStore, op: Tagged) -> None:
    match op["op"]:
        case "renameStore":
            store.name = _given(op, "to")
        case "createIndex":
            flags = _given(op, "unique"), _given(op, "multiEntry")
            store.create_index(_given(op, "name"), _given(op, "keyPath"), *flags)
        case "deleteIndex":
            store.delete_index(_given(op, "name"))
        case "renameIndex":
            store.index(_given(op, "name")).name = _given(op, "to")


def _request(store: ObjectStore, op: Tagged) -> Request[Any]:
    kind = op["op"]
    source: Source = store.index(_given(op, "index")) if "index" in op else store
    takes_query = kind not in ("add", "put", "clear")
    query = query_of(op.get("query", UNDEFINED)) if takes_query else UNDEFINED
    if kind in ("add", "put", "delete", "clear"):
        if source is not store:
            raise JsTypeError(f"an index has no method {kind}")
        return _write(store, op, query)
    count = _given(op, "count")
    match kind:
        case "get":
            return source.get(query)
        case "getKey":
            return source.get_key(query)
        case "getAll":
            return source.get_all(query, count)
        case "getAllKeys":
            return source.get_all_keys(query, count)
        case "count":
            return source.count(query)
        case "cursor":
            return open_cursor(source, op, query)
    raise FormatError(f"unknown op {kind!r}")


def _write(store: ObjectStore, op: Tagged, query: object) -> Request[Any]:
    match op["op"]:
        case "add":
            return store.add(_given(op, "value"), _given(op, "key"))
        case "put":
            return store.put(_given(op, "value"), _given(op, "key"))
        case "delete":
            return store.delete(query)
    return store.clear()


def open_cursor(source: Source, op: Tagged, query: object) -> Request[Any]:
    """Open the cursor of a walk."""
    direction = _given(op, "direction")
    if direction is None or direction is UNDEFINED:
        direction = "next"
    if op.get("keyOnly"):
        return source.open_key_cursor(query, direction)
    return source.open_cursor(query, direction)
