"""What the browser keeps for the extension beside the database."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any


class SmallStorage:
    """The extension's small storage, its alarm, the open tabs.

    `local` is chrome.storage.local, which outlives the browser; `session` is
    chrome.storage.session. `tabs` are the ids of the tabs that show the page now:
    whoever drives the model keeps it true.
    """

    def __init__(self, local: Mapping[str, Any] | None = None) -> None:
        self.local: dict[str, Any] = deepcopy(dict(local or {}))
        self.session: dict[str, Any] = {}
        self.has_alarm = False
        self.tabs: list[int] = []
