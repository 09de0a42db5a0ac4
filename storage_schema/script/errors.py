"""What can be wrong with a script itself."""

from __future__ import annotations

from typing import ClassVar

from storage_schema.errors import StorageModelError


class ScriptError(StorageModelError):
    """The script is not in the format that the replayer knows."""

    name: ClassVar[str] = "ScriptError"
