"""A reader of the page's surfaces, written from docs/normal-form.md alone.

It stands in for an extension's adapters, so that the ledger and the dialects are held
against each other by something that shares no code with either.
"""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

Json: TypeAlias = Any  # whatever stands in a row
Row = dict[str, Any]
SECRETS = [
    "ctoken",
    "_tb_token_",
    "chatToken",
    "secReqToken",
    "accessToken",
    "refreshToken",
    "sign",
]
SECRET_KEYS = {*SECRETS, "token", "cookie", "cookies", "csrf", "_csrf"} | {
    "encryFeedbackId",
    "encryTradeId",
}
KINDS = {
    **dict.fromkeys((1, 101), "text"),
    **dict.fromkeys((53, 61), "file"),
    **dict.fromkeys((50, 63), "inquiry"),
    **dict.fromkeys((2028, 2098), "quote_card"),
    60: "image",
    62: "video",
    57: "business_card",
    2000: "product_card",
    2013: "address_card",
    9999: "system",
}
CARDS = {1: "business_card", 23: "business_card", 6: "inquiry", 9: "order_card"}
CARDS |= {3: "product_card", 2000: "product_card", 12: "file"}
KEPT = {
    "image": "url width height size",
    "file": "name size url",
    "video": "url",
    "inquiry": "fbType source",
    "order_card": "orderId orderAmount currency",
    "quote_card": "quoteProductId quoId",
    "address_card": "contactName companyAddress companyTel zipCode countryCode",
}


@dataclass(frozen=True)
class Anomaly:
    """What reading a row gives where it is no message."""

    code: str


@dataclass(frozen=True)
class Asked:
    """For whom and for which conversation the rows were asked."""

    account: str
    conversation_id: str
    own: frozenset[str]


def normal_cid(spelled: str) -> str:
    pair, _, rest = spelled.removesuffix("@icbu").partition("#")
    first, second = sorted(pair.split("-"), key=int)
    return f"{first}-{second}#{rest or '11011'}@icbu"


def read(surface: str, row: object, asked: Asked) -> Row | Anomaly:
    if not isinstance(row, dict):
        return Anomaly("not_an_object")
    if "messageModel" in row:
        row = flattened(row["messageModel"])
    message_id = next(
        (
            value
            for value in (
                row.get("messageId"),
                row.get("uuid"),
                row.get("requestMessageId"),
                (row.get("code") or {}).get("messageId"),
            )
            if value not in (None, "")
        ),
        None,
    )
    if message_id is None:
        return Anomaly("missing_message_id")
    message_id = str(message_id).removesuffix(".PNM")
    if len(message_id) > 256 or re.search("[\ud800-\udfff\x00]", message_id):
        return Anomaly("invalid_id")
    spelled = row.get("conversationId") or row.get("conversationCode") or row.get("cid")
    if spelled is None and surface == "event":
        return Anomaly("missing_conversation_id")
    conversation = normal_cid(spelled) if spelled else asked.conversation_id
    if conversation != asked.conversation_id:
        return Anomaly("foreign_conversation")
    sender = row.get("senderAliId") or row.get("sender")
    if isinstance(sender, dict):
        sender = sender.get("targetId") or sender.get("uid")
    if sender is None:
        return Anomaly("missing_sender_id")
    sender = str(sender).removesuffix("@icbu")
    keys = ("sendTime", "createAt", "gmtChatLong", "gmtChat")
    sent_at = read_time(next((row[key] for key in keys if key in row), None))
    if sent_at is None:
        return Anomaly("invalid_sent_at")
    said = {row.get("messageSendType"), row.get("messageType")}
    outbound = "send" in said or sender in asked.own
    made: Row = {
        "channelAccountId": asked.account,
        "conversationId": conversation,
        "messageId": message_id,
        "senderId": sender,
        "direction": "outbound" if outbound else "inbound",
        "sentAtMs": sent_at,
    }
    return {**made, **body_of(surface, row, message_id)}


def flattened(model: Row) -> Row:
    content = model["content"]
    flat = {**model, "msgType": content["contentType"]}
    if "text" in content:
        flat["content"] = content["text"]["content"]
        flat["extension"] = content["text"].get("extension", {})
    else:
        slots = [v for k, v in content.items() if k != "contentType"]
        flat["content"] = slots[0] if slots else None
    return flat


def read_time(value: object) -> int | None:
    if isinstance(value, str):
        if value.isdecimal():
            value = int(value)
        else:
            try:
                parsed = datetime.fromisoformat(value)
            except ValueError:
                return None
            return round(parsed.timestamp() * 1000) if parsed.tzinfo else None
    if not isinstance(value, int) or value <= 0:
        return None
    return value * 1000 if value < 10**11 else value


def body_of(surface: str, row: Row, message_id: str) -> Row:
    if row.get("status") == 2 or row.get("messageType") == "revoke":
        recalled = {"messageId": message_id}
        return {
            "kind": "recall",
            "messageId": f"{message_id}:recall",
            "recall": recalled,
        }
    rich = surface in ("sdk", "event")
    content = row.get("originalData") or row.get("content")
    opened = opened_json(content)
    numbers = [row.get(k) for k in ("msgType", "messageType", "subType")]
    number = next((n for n in numbers if isinstance(n, int)), 0)
    kind = KINDS.get(number, "unknown")
    if isinstance(opened, dict) and kind not in ("text", "system"):
        kind = CARDS.get(opened.get("cardType", 0), kind)
    made: Row = {"kind": kind}
    if kind in ("text", "system"):
        text = content.get("text") if isinstance(content, dict) else content
        made["text"] = clean(from_html(text or "") if rich else text or "")
    else:
        made["content"] = kept(kind, opened)
    if quote := quote_of(row, rich=rich):
        made["quote"] = quote
    return made


def from_html(text: str) -> str:
    text = re.sub(r"<br\s*/?>", "\n", text)
    text = re.sub(r"<img[^>]*smily/(\w+)\.[^>]*>", r":\1:", text)
    return html.unescape(re.sub(r"</?[a-z][^>]*>", "", text))


def clean(text: str) -> str:
    text = re.sub("[\ud800-\udfff\x00]", "\ufffd", text).replace("\r\n", "\n")
    for name in SECRETS:
        text = re.sub(
            rf"(?<![A-Za-z0-9_])({name})=[^\s&\"'<>#;,)}}\\]+", r"\1=[redacted]", text
        )
        text = re.sub(
            rf'"({name})"(\s*:\s*)"(?:[^"\\]|\\.)*"', r'"\1"\2"[redacted]"', text
        )
    return text


def cleaned(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {
            key: "[redacted]"
            if key in SECRET_KEYS or key.endswith("Encrypt")
            else cleaned(item)
            for key, item in value.items()
        }
    return value


def opened_json(value: Json) -> Json:
    for _ in range(2):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return value
    return value


def kept(kind: str, body: Json) -> Row:
    if kind == "business_card":
        return {"version": 1, "kind": "business_card"}
    if body in (None, ""):
        return {}
    if not isinstance(body, dict):
        return {"text": clean(str(body))}
    body = dict(body)
    if "params" in body:
        body["params"] = opened_json(body["params"])
    if kind == "unknown":
        return dict(cleaned(body))
    params = body.get("params") if isinstance(body.get("params"), dict) else {}
    merged = {**body, **(params or {})}
    if kind == "product_card":
        ids = merged.get("ids", merged.get("id"))
        return {} if ids is None else {"ids": str(ids).split(",")}
    if kind == "order_card":
        inner = json.loads(base64.b64decode(merged["params"]))
        merged = {**inner, **merged}
    found = {key: merged[key] for key in KEPT[kind].split() if key in merged}
    if isinstance(found.get("url"), str):
        url = found["url"].split("?")[0]
        found["url"] = f"https:{url}" if url.startswith("//") else url
    return dict(cleaned(found))


def quote_of(row: Row, *, rich: bool) -> Row | None:
    extension = opened_json(row.get("extension"))
    origin = row.get("originPaasMessageData", {}).get("message", {})
    places = (
        extension if isinstance(extension, dict) else {},
        row.get("extInfo", {}),
        row,
        row.get("ext", {}),
        row.get("localExt", {}),
        origin.get("extension", {}),
    )
    quotes = [p.get("quoteMessage") or p.get("referMessage") for p in places]
    quote = opened_json(next((q for q in quotes if q), None))
    if not isinstance(quote, dict):
        return None
    quoted = str(quote.get("messageId") or quote.get("msgId"))
    made: Row = {"messageId": quoted.removesuffix(".PNM")}
    text = quote.get("content", quote.get("contentDisplay"))
    if text is not None:
        made["text"] = clean(from_html(text) if rich else text)
    return made
