"""The command line; `main` runs one command."""

from bright_server.cli.entrance import main

__all__ = ["main"]
