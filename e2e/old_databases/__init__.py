"""The databases of older versions, as scripts: said once, made in browser and model."""

from e2e.old_databases.accounts import ACCOUNTS, CONVERSATIONS
from e2e.old_databases.configuration import CONFIGURATION
from e2e.old_databases.described import described
from e2e.old_databases.shapes import NAME, OURS, TODAY, shape_of

__all__ = [
    "ACCOUNTS",
    "CONFIGURATION",
    "CONVERSATIONS",
    "NAME",
    "OURS",
    "TODAY",
    "described",
    "shape_of",
]
