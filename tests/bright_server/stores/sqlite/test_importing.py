"""What other stores keep and a file cannot: said in words, with its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bright_server import backends
from bright_server.clock import SystemClock
from bright_server.commit.transfer import CopiedConversation, CopiedMessage, StoreFacts
from bright_server.errors import CopyRefused
from bright_server.fanout.contract import LogPosition
from bright_server.settings import Settings
from tests.bright_server.stores.sqlite.works import KEY, observed


async def test_an_id_that_another_store_has_twice_is_named(tmp_path: Path) -> None:
    """MS-21: there a message that was sent and a page's may have one id."""
    settings = Settings(database=tmp_path / "copy.db")
    conversation = CopiedConversation(KEY, None, None, 2, None, None, None)
    twice = [
        CopiedMessage(KEY, number, observed(7), 1, 1, LogPosition("outbox", number))
        for number in (1, 2)
    ]
    async with backends.importing(settings, SystemClock()) as target:
        mark = await target.begin(StoreFacts("source", 1), "source")
        page = replace(mark, cursor="1")
        with pytest.raises(CopyRefused, match="is there twice") as refused:
            await target.load([conversation, *twice], page)
    assert KEY.conversation_id in str(refused.value)
    assert observed(7).message_id in str(refused.value)
