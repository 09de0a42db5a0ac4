"""What is configured and remembered in the browser's small storage."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

from extension_harness.model.settings import (
    Settings,
    extension_endpoint,
    settings_from,
)
from extension_harness.model.steps import Behaviour, Json, Local, Value

CONFIGURED = ("serverUrl", "bindingToken", "settings")
_REMEMBERED = ("deviceId", "stop", "storeIds", "lastStoreId")


@dataclass
class Stored:
    """All of it; `endpoint` is None where no usable address is configured."""

    endpoint: str | None
    serverUrl: str  # noqa: N815 - as stored
    bindingToken: str  # noqa: N815 - as stored
    deviceId: str  # noqa: N815 - as stored
    settings: Settings
    stop: Json | None
    storeIds: dict[str, str]  # noqa: N815 - as stored
    lastStoreId: str | None  # noqa: N815 - as stored


def read_configuration(new_id: Callable[[], str]) -> Behaviour[Stored]:
    """Reads all of it; makes the device id at the first start."""
    names = (*CONFIGURED, *_REMEMBERED)
    stored = yield Local(
        "storage.local.get",
        lambda disk: {n: deepcopy(disk.local[n]) for n in names if n in disk.local},
    )
    server_url = _text(stored.get("serverUrl"))
    device_id = _text(stored.get("deviceId"))
    if device_id == "":
        device_id = new_id()
        yield from write_local({"deviceId": device_id})
    return Stored(
        endpoint=extension_endpoint(server_url),
        serverUrl=server_url,
        bindingToken=_text(stored.get("bindingToken")),
        deviceId=device_id,
        settings=settings_from(stored.get("settings")),
        stop=stored.get("stop"),
        storeIds=stored.get("storeIds") or {},
        lastStoreId=stored.get("lastStoreId"),
    )


def write_local(values: Json) -> Behaviour[None]:
    """Writes what has to outlive the worker."""
    kept = deepcopy(values)
    yield Local("storage.local.set", lambda disk: disk.local.update(kept))


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def random_id(random: Callable[[], float]) -> str:
    """An id as the browser makes one."""
    number = 0
    for _ in range(8):
        number = (number << 16) | int(random() * 65_536)
    return str(uuid.UUID(int=number, version=4))
