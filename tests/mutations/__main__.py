"""Runs the command; see `cli.py`."""

from __future__ import annotations

from tests.mutations.cli import main

raise SystemExit(main())
