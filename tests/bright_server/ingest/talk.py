"""Talking with a session in a test: what goes in, what it wants done."""

from __future__ import annotations

import json
from typing import Any

from bright_server.ingest.effects import (
    Close,
    Effect,
    Send,
    Submit,
)
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import (
    BindingId,
    ConversationKey,
    Grant,
)
from bright_server.settings import Settings
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    Frame,
    batch,
    hello,
    message,
    text_of,
)

NOW_MS = 1_750_000_500_000
GRANT = Grant(BindingId("bnd_1"), 1, frozenset({ACCOUNT}))
KEY = ConversationKey(ACCOUNT, CONVERSATION)


def receive(session: ExtensionSession, frame: Frame | str) -> list[Effect]:
    text = frame if isinstance(frame, str) else text_of(frame)
    return session.receive_text(text.encode(), NOW_MS)


def sent(effects: list[Effect]) -> list[dict[str, Any]]:
    return [json.loads(each.text) for each in effects if isinstance(each, Send)]


def only_sent(effects: list[Effect]) -> dict[str, Any]:
    (frame,) = sent(effects)
    assert len(effects) == 1
    return frame


def closed_with(effects: list[Effect]) -> int:
    closes = [each for each in effects if isinstance(each, Close)]
    assert len(closes) == 1
    return closes[0].code


def submitted(effects: list[Effect]) -> Submit:
    (effect,) = effects
    assert isinstance(effect, Submit)
    return effect


def assert_serves(session: ExtensionSession) -> None:
    submitted(receive(session, batch(message(1))))


def new_session() -> ExtensionSession:
    return ExtensionSession("connection-1", "store-1", Settings())


def opened_session() -> ExtensionSession:
    session = new_session()
    receive(session, hello("brt_secret"))
    session.admitted(GRANT, NOW_MS)
    return session
