"""Python sources as trees: which class is made of which, found without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file."""

    where: str
    """Its path under the root."""
    tree: ast.Module

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {
            each.name: each for each in self.tree.body if isinstance(each, ast.ClassDef)
        }

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """What it calls by a name: the module that it is of, and its name there."""
        return {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }


@dataclass(frozen=True)
class Class:
    """A class, and the module that it stands in."""

    module: Module
    node: ast.ClassDef

    def functions(self) -> dict[str, Function]:
        return {each.name: each for each in functions_of(self.node)}


class Sources:
    """All Python files of some folders."""

    def __init__(self, root: Path, folders: Sequence[str]) -> None:
        self.modules: dict[str, Module] = {}
        for folder in folders:
            for path in sorted((root / folder).rglob("*.py")):
                where = path.relative_to(root).as_posix()
                name = where.removesuffix(".py").replace("/", ".")
                tree = ast.parse(path.read_text(encoding="utf-8"))
                self.modules[name.removesuffix(".__init__")] = Module(where, tree)

    def named(self, module: Module, name: str) -> Class | None:
        """The class that a module calls so; None: it is of no file here."""
        if name in module.classes:
            return Class(module, module.classes[name])
        origin, original = module.imports.get(name, ("", ""))
        found = self.modules.get(origin)
        return None if found is None else self.named(found, original)

    def lineage(self, one: Class) -> Iterator[Class]:
        """The class, and all that it is made of, as far as it is of these files."""
        yield one
        for base in one.node.bases:
            if isinstance(base, ast.Name):
                found = self.named(one.module, base.id)
                if found is not None:
                    yield from self.lineage(found)

    def beside(self, module: Module) -> Iterator[Module]:
        """The module, and each `conftest` that it is under, the nearest first."""
        yield module
        parts = module.where.split("/")[:-1]
        for length in range(len(parts), 0, -1):
            name = ".".join([*parts[:length], "conftest"])
            if name in self.modules:
                yield self.modules[name]


def functions_of(node: ast.Module | ast.ClassDef) -> Iterator[Function]:
    """The functions that stand directly in a module or class."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each


def names_in(node: ast.AST) -> set[str]:
    """All plain names that are used somewhere in it."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
