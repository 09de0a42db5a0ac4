"""Pictures of the OneTalk database: all of it, and parts to compare."""

from __future__ import annotations

from dataclasses import dataclass

from storage_schema import Factory
from storage_schema.onetalk.names import ALL_STORES, DATABASE_NAME
from storage_schema.shape import Shape, StoreShape, picture


def shape_of(factory: Factory) -> Shape:
    """The whole database as it is."""
    return picture(factory, DATABASE_NAME)


def stores_of(shape: Shape) -> dict[str, StoreShape]:
    """All stores by name."""
    return {store.name: store for store in shape.stores}


def others_of(shape: Shape) -> dict[str, StoreShape]:
    """What other channels keep in the same database."""
    found = stores_of(shape)
    return {name: store for name, store in found.items() if name not in ALL_STORES}


def indexes_of(shape: Shape) -> set[tuple[str, str]]:
    """Each index as (store, name)."""
    return {
        (store.name, index.name) for store in shape.stores for index in store.indexes
    }


@dataclass(frozen=True)
class Outline:
    """A store without what is in it."""

    key_path: object
    auto_increment: bool
    indexes: frozenset[tuple[str, object, bool, bool]]


def outline_of(shape: Shape) -> dict[str, Outline]:
    """The schema of the OneTalk stores."""
    return {
        name: Outline(
            store.key_path,
            store.auto_increment,
            frozenset(
                (index.name, index.key_path, index.unique, index.multi_entry)
                for index in store.indexes
            ),
        )
        for name, store in stores_of(shape).items()
        if name in ALL_STORES
    }
