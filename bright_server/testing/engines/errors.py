"""Errors of the starters of real servers."""

from __future__ import annotations

from bright_server.errors import BrightError


class EngineError(BrightError):
    """A real server for tests could not be found, started or stopped."""
