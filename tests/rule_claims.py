"""What tests claim to prove, and on which stores they run: read from their sources.

A suite of the contract kit is a class without a store; a test class that is made of it
gives it one, by its fixture `stores`, which says what it returns. So each test of a
suite counts on every store that plugs it in, and on none that it passes over because
the store does not claim what it needs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.python_sources import (
    Class,
    Function,
    Module,
    Sources,
    functions_of,
    names_in,
)

FOLDERS = ("tests", "e2e", "bright_server/testing")
KIT = "bright_server.testing"
STORES = {
    "memory": "memory",
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "redis": "Redis/Valkey",
    "two-step": "a store of two steps",
}
_SERVERS = {"valkey": "redis"}
_UNDER_TEST = "UnderTest"
_TITLED = re.compile(
    r"""^\s*(?:await )?(?:\w+\.)?test\(\s*(["'`])(.*?)\1""", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Claim:
    """A test, what it says of itself, and the stores that it runs on."""

    test: str
    text: str
    stores: frozenset[str] = frozenset()
    """Empty: it runs on no store, or on none in particular."""


def claims(root: Path) -> Iterator[Claim]:
    """Every claim of every test; a test of a suite comes once for each of its users."""
    reading = _Reading(root)
    for module in reading.sources.modules.values():
        if Path(module.where).name.startswith("test_"):
            yield from reading.of_module(module)
    for folder in ("tests", "e2e"):
        for path in sorted((root / folder).rglob("*.test.mjs")):
            where = path.relative_to(root).as_posix()
            for _, title in _TITLED.findall(path.read_text(encoding="utf-8")):
                yield Claim(f"{where}::{title}", title)


class _Reading:
    def __init__(self, root: Path) -> None:
        self.sources = Sources(root, FOLDERS)

    def of_module(self, module: Module) -> Iterator[Claim]:
        for function in functions_of(module.tree):
            if function.name.startswith("test_"):
                stores = self._run_in(module, function) or _of_path(module)
                yield _claim(module, function, stores)
                yield from self._of_machines(module, function, stores)
        for node in module.classes.values():
            if node.name.startswith("Test"):
                yield from self._of_class(Class(module, node))

    def _of_class(self, one: Class) -> Iterator[Claim]:
        lineage = list(self.sources.lineage(one))
        store = self._store_of(lineage)
        stores = frozenset({store[0]}) if store else _of_path(one.module)
        told: set[str] = set()
        for each in lineage:
            for name, function in each.functions().items():
                if not name.startswith("test_") or name in told:
                    continue
                told.add(name)
                if not (store and self._is_passed_over(function, store[1], lineage)):
                    yield _claim(each.module, function, stores)

    def _of_machines(
        self, module: Module, function: Function, stores: frozenset[str]
    ) -> Iterator[Claim]:
        """The steps of a state machine that a test lets run."""
        for name in names_in(function) & module.imports.keys():
            found = self.sources.modules.get(module.imports[name][0])
            if found is None or not name.startswith("run_"):
                continue
            for node in found.classes.values():
                for step in functions_of(node):
                    if {"rule", "invariant"} & names_in_decorators(step):
                        yield _claim(found, step, stores)

    def _store_of(self, lineage: list[Class]) -> tuple[str, Class] | None:
        """What the fixture `stores` of a test class returns."""
        for each in lineage:
            if fixture := each.functions().get("stores"):
                return self._returned(each.module, fixture)
        for module in self.sources.beside(lineage[0].module):
            for function in functions_of(module.tree):
                if function.name == "stores":
                    return self._returned(module, function)
        return None

    def _returned(self, module: Module, function: Function) -> tuple[str, Class] | None:
        if function.returns is None:
            return None
        for name in names_in(function.returns):
            found = self.sources.named(module, name)
            if found is not None and name.endswith(_UNDER_TEST):
                return _store_named(name), found
        return None

    def _run_in(self, module: Module, function: Function) -> frozenset[str]:
        """The stores that a test makes itself; one made of another is the outer one."""
        names = {each for each in names_in(function) if each.endswith(_UNDER_TEST)}
        stores = {
            _store_named(each) for each in names if self.sources.named(module, each)
        } & STORES.keys()
        return frozenset({"two-step"} if "two-step" in stores else stores)

    def _is_passed_over(
        self, function: Function, under_test: Class, lineage: list[Class]
    ) -> bool:
        """Whether it needs what the store, or the class of tests, does not claim."""
        for call in _calls_of(function, "needs"):
            needed = call.args[0]
            if not isinstance(needed, ast.Attribute):
                continue
            if isinstance(needed.value, ast.Name):  # `self.kills`
                said = _first(_constant_of(each, needed.attr) for each in lineage)
            else:  # `stores.can.atomic_step`
                said = self._capability(under_test, needed.attr)
            if said is False:
                return True
        return False

    def _capability(self, under_test: Class, name: str) -> bool | None:
        for each in self.sources.lineage(under_test):
            for node in each.node.body:
                if "can" not in _defined_by(node):
                    continue
                for call in (c for c in ast.walk(node) if isinstance(c, ast.Call)):
                    for keyword in call.keywords:
                        if keyword.arg == name:
                            return _truth(keyword.value)
        claimed = self.sources.named(under_test.module, "Capabilities")
        return None if claimed is None else _constant_of(claimed, name)


def names_in_decorators(function: Function) -> set[str]:
    """What a function is decorated with."""
    return {name for each in function.decorator_list for name in names_in(each)}


def _claim(module: Module, function: Function, stores: frozenset[str]) -> Claim:
    text = ast.get_docstring(function) or ""
    return Claim(f"{module.where}::{function.name}", text, stores)


def _store_named(under_test: str) -> str:
    words = re.findall("[A-Z][a-z]*", under_test.removesuffix(_UNDER_TEST))
    return "-".join(words).lower()


def _of_path(module: Module) -> frozenset[str]:
    words = {_SERVERS.get(each, each) for each in re.split(r"[/_.]", module.where)}
    return frozenset(words & STORES.keys())


def _calls_of(function: Function, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == name:
            yield node


def _constant_of(one: Class, name: str) -> bool | None:
    for node in one.node.body:
        if name in _defined_by(node) and isinstance(node, ast.Assign | ast.AnnAssign):
            return None if node.value is None else _truth(node.value)
    return None


def _defined_by(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, ast.Assign):
        return {each.id for each in node.targets if isinstance(each, ast.Name)}
    return set()


def _truth(node: ast.expr) -> bool | None:
    return node.value if isinstance(node, ast.Constant) else None  # type: ignore[return-value]


def _first(values: Iterator[bool | None]) -> bool | None:
    return next((each for each in values if each is not None), None)
