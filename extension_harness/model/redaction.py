"""Secrets of the page leave a message before it is written: by key, by text pattern.

This is `shared/redaction.js` again. `page/normal.py` says the same a third time and
shares nothing with it on purpose: it is what the extension and this model are judged
by, and a mistake in a list that both use would hide itself.
"""

from __future__ import annotations

import re

from extension_harness.model.steps import Value

REDACTED = "[redacted]"
_TEXT_KEYS = (
    "ctoken",
    "_tb_token_",
    "chatToken",
    "secReqToken",
    "accessToken",
    "refreshToken",
    "sign",
)
_SECRET_KEYS = {
    *_TEXT_KEYS,
    "token",
    "cookie",
    "cookies",
    "csrf",
    "_csrf",
    "encryFeedbackId",
    "encryTradeId",
    "activeAccountIdEncrypt",
}
_NAMES = "|".join(_TEXT_KEYS)
_ASSIGNED = re.compile(rf"(?<![A-Za-z0-9_])({_NAMES})=[^\s&\"'<>#;,)}}\\]+")
_QUOTED = re.compile(rf'("(?:{_NAMES})\\*"\s*:\s*")(?:[^"\\]|\\.)*', re.DOTALL)
_ESCAPED = re.compile(
    rf'("(?:{_NAMES})\\*"\s*:\s*(\\+)")(?:(?!(?<!\\)\2").)*', re.DOTALL
)


def redact_text(text: str) -> str:
    """The same with the values of the page's secrets replaced."""
    if not any(name in text for name in _TEXT_KEYS):
        return text
    text = _ASSIGNED.sub(rf"\1={REDACTED}", text)
    text = _QUOTED.sub(rf"\1{REDACTED}", text)
    return _ESCAPED.sub(rf"\1{REDACTED}", text)


def redact(value: Value) -> Value:
    """A copy of a JSON value without the page's secrets, at any depth."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [redact(each) for each in value]
    if isinstance(value, dict):
        return {
            key: REDACTED if _is_secret(key) else redact(inner)
            for key, inner in value.items()
        }
    return value


def _is_secret(key: str) -> bool:
    return key in _SECRET_KEYS or key.endswith("Encrypt")
