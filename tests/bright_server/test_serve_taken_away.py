"""A real server whose database's file is exchanged while it runs."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import psutil

from tests.bright_server.frames import batch, message
from tests.bright_server.processes import DEADLINE_SECONDS, dumped, serving

FOUND = "is not the one that was opened"


async def test_ms_15_and_ms_27_an_exchanged_file_ends_acks_until_the_next_start(
    database: Path, token: str, tmp_path: Path
) -> None:
    """Nor does a writer that starts again write into the other file."""
    other = tmp_path / "other.db"
    shutil.copyfile(database, other)
    async with (
        serving(database, writer_restart_seconds=0.01) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        assert (await extension.ask(batch(message(1))))["results"][0]["status"] == (
            "confirmed"
        )
        other.replace(database)

        answer = await extension.ask(batch(message(2)))
        assert answer["results"][0]["status"] == "retry"
        status, lines = await server.get("/readyz")
        assert status == 503
        for name, line in zip(("store", "commits"), lines.splitlines(), strict=False):
            assert line.startswith(f"{name}: ")
            assert FOUND in line

        [writer] = psutil.Process(server.process.pid).children()
        writer.kill()
        # Answered only once the next writers have given up.
        answer = await extension.ask(batch(message(3)))
        assert answer["results"][0]["status"] == "retry"
        assert (await server.get("/readyz"))[0] == 503
        _, said = await server.end()
    assert "is not the one that the server opened" in said
    # The log of the file that is gone is none of this one's (docs/operate.md).
    for ending in ("-wal", "-shm"):
        database.with_name(database.name + ending).unlink()
    assert await dumped(database, "message") == []

    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        async with asyncio.timeout(DEADLINE_SECONDS):
            answer = await extension.ask(batch(message(2)))
        assert answer["results"][0]["status"] == "confirmed"
