"""A server with an operator's credential."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bright_server.commands.serving import CREDENTIAL
from tests.bright_server.processes import Server, serving


@pytest.fixture
def credential(tmp_path: Path) -> Path:
    file = tmp_path / "operator"
    file.write_text(f"{CREDENTIAL}\n", encoding="ascii")
    return file


@pytest.fixture
async def server(database: Path, token: str, credential: Path) -> AsyncIterator[Server]:
    assert token
    async with serving(
        database, operator_credential_file=credential, command_grace_seconds=0.3
    ) as server:
        yield server
