"""Refusing page secrets that an extension should have removed. No I/O.

The extension redacts before its durable write; here it is only checked. The check
claims no more than is certain: a redacted value, an empty one or prose is no secret. It
looks at every message of every batch, so each step first asks something cheaper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from bright_server.wire.text import parse_json

_REDACTED: Final = "[redacted]"

_TEXT_KEYS: Final = (
    "ctoken", "_tb_token_", "chatToken", "secReqToken", "accessToken", "refreshToken",
    "sign",
)  # fmt: skip
_OBJECT_KEYS: Final = frozenset(
    {
        *_TEXT_KEYS, "token", "cookie", "cookies", "csrf", "_csrf", "encryFeedbackId",
        "encryTradeId", "activeAccountIdEncrypt",
    }
)  # fmt: skip

_KEYS: Final = "|".join(sorted(map(re.escape, _OBJECT_KEYS), key=len, reverse=True))
# A key of an object, or one in the text of a string, with a value that is not redacted.
_PART: Final = re.compile(
    rf"(?:{_KEYS}|Encrypt)(?:=|\\*\"\s*:)(?!\s*\\*\"?\[redacted\])"
)
_TEXT_NAMES: Final = "|".join(_TEXT_KEYS)
# No more than the extension takes out: what it has redacted must never be refused.
_TEXT: Final = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?:{_TEXT_NAMES})="
    rf"|\"(?:{_TEXT_NAMES})\\*\"[ \t\r\n]*:[ \t\r\n]*\\*\")"
    r"(?!\[redacted\])[A-Za-z0-9%_+/.-]"
)


def holds_secret(text: str | None, parts: Iterable[str | None]) -> bool:
    """Say whether a message carries an unredacted secret, at any depth.

    `parts` are its structured parts as canonical JSON.
    """
    if text is not None and text_holds_secret(text):
        return True
    return any(
        part is not None and _PART.search(part) and _value_holds(parse_json(part))
        for part in parts
    )


def text_holds_secret(text: str) -> bool:
    """Say whether a plain text carries an unredacted secret."""
    # A secret follows "=", or stands in quotes: nearly no text has either.
    return ("=" in text or '"' in text) and _TEXT.search(text) is not None


def any_text_holds_secret(texts: Sequence[str]) -> bool:
    """Say whether one of many plain texts carries an unredacted secret."""
    together = "\n".join(texts)
    return ("=" in together or '"' in together) and any(map(text_holds_secret, texts))


def _value_holds(root: object) -> bool:
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if text_holds_secret(value):
                return True
        elif isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                if _is_secret_key(key) and _is_secret_value(item):
                    return True
                pending.append(item)
    return False


def _is_secret_key(key: str) -> bool:
    return key in _OBJECT_KEYS or key.endswith("Encrypt")


def _is_secret_value(value: object) -> bool:
    return value not in (_REDACTED, None, "", [], {})
