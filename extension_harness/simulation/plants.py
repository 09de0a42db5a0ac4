"""Planted bugs: each a small change of the product, which the simulation has to find.

A plant is put into one world, never into the product's modules, so that it is gone with
the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from extension_harness.simulation.world import World


class Plant:
    """No bug: the product as it is."""

    name = ""

    def put_into(self, world: World) -> None:
        """Change the world before anything has happened in it."""
