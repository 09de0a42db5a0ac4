"""The normal form of the truth, written down by the simulator's own rules.

This is the ledger's side of docs/normal-form.md. It starts from the canonical truth,
not from what a surface served, so that a mistake in a dialect and a mistake in an
adapter cannot cancel out. For the same reason its names of secrets and its patterns are
its own, and not those of `model/redaction.py`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping

from extension_harness.page.truth import Message

REDACTED = "[redacted]"
SECRET_NAMES = (
    "ctoken",
    "_tb_token_",
    "chatToken",
    "secReqToken",
    "accessToken",
    "refreshToken",
    "sign",
)
SECRET_KEYS = frozenset(
    {
        *SECRET_NAMES,
        "token",
        "cookie",
        "cookies",
        "csrf",
        "_csrf",
        "encryFeedbackId",
        "encryTradeId",
        "activeAccountIdEncrypt",
    }
)
KEPT_KEYS: Mapping[str, tuple[str, ...]] = {
    "image": ("url", "width", "height", "size"),
    "file": ("name", "size", "url"),
    "video": ("url",),
    "inquiry": ("fbType", "source"),
    "order_card": ("orderId", "orderAmount", "currency"),
    "quote_card": ("quoteProductId", "quoId"),
    "address_card": (
        "contactName",
        "companyAddress",
        "companyTel",
        "zipCode",
        "countryCode",
    ),
}
_NAMES = "|".join(map(re.escape, SECRET_NAMES))
_PAIR = re.compile(rf"""(?<![A-Za-z0-9_])({_NAMES})=[^\s&"'<>#;,)}}\\]+""")
_JSON_PAIR = re.compile(rf'"({_NAMES})"(\s*:\s*)"(?:[^"\\]|\\.)*"')
_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")


def clean_text(text: str) -> str:
    """Return `text` as it may be stored: no NUL, lone surrogate, CR LF or secret."""
    text = _UNSTORABLE.sub("\ufffd", text).replace("\r\n", "\n")
    text = _PAIR.sub(rf"\1={REDACTED}", text)
    return _JSON_PAIR.sub(rf'"\1"\2"{REDACTED}"', text)


def clean_content(value: object) -> object:
    """Return a JSON value with every secret in it redacted, at any depth."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_content(item) for item in value]
    if isinstance(value, dict):
        return {
            key: REDACTED if _is_secret(key) else clean_content(item)
            for key, item in value.items()
        }
    return value


def _is_secret(key: str) -> bool:
    return key in SECRET_KEYS or key.endswith("Encrypt")


def content_of(kind: str, body: str | None) -> dict[str, object]:
    """Return the content of a message that is neither text, system nor recall."""
    if kind == "business_card":
        return {"version": 1, "kind": "business_card"}
    opened = _open(body)
    if opened in (None, ""):
        return {}
    if not isinstance(opened, dict):
        return {"text": clean_text(str(opened))}
    opened = dict(opened)
    if "params" in opened:
        opened["params"] = _open(opened["params"])
    content = clean_content(opened if kind == "unknown" else _kept(kind, opened))
    return dict(content) if isinstance(content, dict) else {}


def _open(value: object) -> object:
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value)
        except ValueError:
            break
    return value


def _kept(kind: str, body: Mapping[str, object]) -> dict[str, object]:
    params = body.get("params")
    places: list[Mapping[str, object]] = [params] if isinstance(params, dict) else []
    places.append(body)
    if kind == "order_card" and isinstance(params, dict):
        places.append(_decoded(params.get("params")))
    if kind == "product_card":
        return _product_ids(places)
    kept: dict[str, object] = {}
    for key in KEPT_KEYS[kind]:
        for place in places:
            if key in place:
                kept[key] = _address(kind, key, place[key])
                break
    return kept


def _decoded(value: object) -> Mapping[str, object]:
    try:
        decoded = json.loads(base64.b64decode(str(value), validate=True))
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _product_ids(places: list[Mapping[str, object]]) -> dict[str, object]:
    for place in places:
        if "ids" in place:
            return {"ids": [part.strip() for part in str(place["ids"]).split(",")]}
        if "id" in place:
            return {"ids": [str(place["id"])]}
    return {}


def _address(kind: str, key: str, value: object) -> object:
    if key != "url" or not isinstance(value, str):
        return value
    value = f"https:{value}" if value.startswith("//") else value
    return value.split("?", 1)[0]


def normal_fields(message: Message, account: str) -> dict[str, object]:
    """Return the normal form of a valid message, absent fields left out."""
    fields: dict[str, object] = {
        "channelAccountId": account,
        "conversationId": message.conversation_id,
        "messageId": message.message_id,
        "senderId": message.sender_id,
        "direction": "outbound" if message.outbound else "inbound",
        "sentAtMs": message.position_ms,
        "kind": "recall" if message.recalled else message.kind,
    }
    if message.recalled:
        fields["recall"] = {"messageId": str(message.number)}
        return fields
    if message.kind in ("text", "system"):
        fields["text"] = clean_text(message.text or "")
    else:
        fields["content"] = content_of(message.kind, message.body)
    if message.quote is not None:
        fields["quote"] = {"messageId": message.quote.message_id}
        if message.quote.text is not None:
            fields["quote"]["text"] = clean_text(message.quote.text)  # type: ignore[index]
    return fields
