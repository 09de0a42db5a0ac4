"""A real authorization service as a process, with bindings that a test changes."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bright_server.authorization.remote import RemoteAuthority, asking
from bright_server.authorization.tokens import token_digest
from bright_server.clock import SystemClock
from bright_server.operations.metrics import Metrics
from bright_server.settings import Settings
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.processes import DEADLINE_SECONDS

CREDENTIAL = "the-credential-of-bright"
MODULE = "tests.bright_server.authorization.faulty_authority"


class Service:
    """One service: its process, which may be killed and started again, and its files.

    What it knows is in files, so it survives the process.
    """

    def __init__(self, folder: Path, certificate: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._bindings = folder / "bindings.json"
        self._mode = folder / "mode"
        self._journal = folder / "journal"
        self._certificate = certificate
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0
        self.behave("well")
        self._write([])
        self._journal.write_text("")

    @property
    def address(self) -> str:
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}"

    @property
    def journal(self) -> list[dict[str, Any]]:
        """Every question so far."""
        return [json.loads(line) for line in self._journal.read_text().splitlines()]

    @property
    def questions(self) -> Counter[str]:
        """How often each was asked."""
        return Counter(each["path"] for each in self.journal)

    async def asked(self, path: str, times: int = 1) -> None:
        """Wait until this has been asked so often."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.questions[path] < times:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)

    def behave(self, mode: str) -> None:
        """From the next question on: a mode of `faulty_authority`."""
        write_whole(self._mode, mode)

    def issue(self, *accounts: str) -> tuple[str, str]:
        """A new binding's token and id."""
        token, binding_id = secrets.token_urlsafe(32), f"their-{secrets.token_hex(4)}"
        made = {
            "tokenSha256": token_digest(token).hex(),
            "bindingId": binding_id,
            "accounts": list(accounts or (ACCOUNT,)),
            "authorizationVersion": 1,
            "standing": "valid",
        }
        self._write([*self._read(), made])
        return token, binding_id

    def change(self, binding_id: str, **fields: object) -> None:
        self._write(
            [
                each | fields if each["bindingId"] == binding_id else each
                for each in self._read()
            ]
        )

    def revoke(self, binding_id: str) -> None:
        self.change(binding_id, standing="revoked")

    async def start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            MODULE,
            str(self.port),
            stdout=asyncio.subprocess.PIPE,
            env=os.environ
            | {
                "AUTHORITY_BINDINGS": str(self._bindings),
                "AUTHORITY_MODE": str(self._mode),
                "AUTHORITY_JOURNAL": str(self._journal),
                "AUTHORITY_CREDENTIAL": CREDENTIAL,
            }
            | (
                {"AUTHORITY_CERTIFICATE": str(self._certificate)}
                if self._certificate
                else {}
            ),
        )
        self._process = process
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), DEADLINE_SECONDS)
        self.port = int(line)

    async def kill(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()

    def _read(self) -> list[dict[str, Any]]:
        known: list[dict[str, Any]] = json.loads(self._bindings.read_text())
        return known

    def _write(self, bindings: list[dict[str, Any]]) -> None:
        write_whole(self._bindings, json.dumps(bindings))


def write_whole(path: Path, text: str) -> None:
    """Write so that a reader sees the old text or the new one."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


@asynccontextmanager
async def service_running(
    folder: Path, certificate: Path | None = None
) -> AsyncIterator[Service]:
    service = Service(folder, certificate)
    await service.start()
    try:
        yield service
    finally:
        await service.kill()


@asynccontextmanager
async def asking_it(
    service: Service, **settings: object
) -> AsyncIterator[RemoteAuthority]:
    """Bright's own end of the conversation, in this process."""
    given: dict[str, Any] = {"authority_credential": CREDENTIAL, **settings}
    async with asking(
        service.address, Settings(**given), SystemClock(), Metrics()
    ) as authority:
        yield authority
