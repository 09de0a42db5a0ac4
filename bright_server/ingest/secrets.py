"""Refusing page secrets that an extension should have removed. No I/O.

The extension redacts before its durable write; here it is only checked, from cheap to
dear: literal words in the whole frame, then one expression over it, and only for a frame
in which that one found something, message by message. The check claims no more than is
certain: a redacted value, an empty one or prose is no secret.
"""

from __future__ import annotations

import re
from typing import Final

from bright_server.messages import ObservedMessage
from bright_server.wire.codec import parse_json

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

# Substrings that every key above has one of, and the escape that could hide one.
_WORDS: Final = ("oken", "sign", "ookie", "csrf", "ncry", "\\u00")

_KEYS: Final = "|".join(sorted(map(re.escape, _OBJECT_KEYS), key=len, reverse=True))
# In the text of a frame a quote may be escaped, once for each level of nesting.
_FRAME: Final = re.compile(
    rf"\\u00[2-7]|(?:{_KEYS}|Encrypt)(?:=|\\*\"\s*:)(?!\s*\\*\"?\[redacted\])"
)
_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9_])(?:{'|'.join(_TEXT_KEYS)})"
    r"(?:=|\\*\"\s*:\s*\\*\")(?!\[redacted\])[A-Za-z0-9%_+/.-]"
)


def frame_may_hold_secret(text: str) -> bool:
    """Say quickly whether it is worth looking at a frame's messages one by one."""
    for word in _WORDS:
        if word in text:
            return _FRAME.search(text) is not None
    return False


def holds_secret(message: ObservedMessage) -> bool:
    """Say whether a message carries an unredacted secret, at any depth."""
    if message.text is not None and _TEXT.search(message.text):
        return True
    parts = (message.content, message.quote, message.recall, message.raw)
    return any(part is not None and _value_holds(parse_json(part)) for part in parts)


def _value_holds(root: object) -> bool:
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if _TEXT.search(value):
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
