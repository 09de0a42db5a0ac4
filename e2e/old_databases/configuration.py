"""What ``chrome.storage`` holds beside the database, of ours and of other channels."""

from __future__ import annotations

from collections.abc import Mapping

from e2e.old_databases.accounts import ACCOUNTS, DEVICE

CONFIGURATION: Mapping[str, object] = {
    "serverUrl": "127.0.0.1:9",  # nobody listens there
    "bindingToken": "an-old-token",
    "deviceId": DEVICE,
    "settings": {"historyPaceMs": 1_000, "ackTimeoutMs": 3_000},
    "storeIds": {ACCOUNTS[0]: "an-older-store"},
    "binding": {"id": "b-1", "accounts": list(ACCOUNTS), "since": 1_700_000_000_000},
    "whatsapp": {"session": {"paired": True, "keys": [1, 2, None, "三"]}},
}
