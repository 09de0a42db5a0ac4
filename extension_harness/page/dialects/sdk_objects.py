"""Message objects of the page's SDK: HTML texts, ids as numbers, nested senders."""

from __future__ import annotations

import json

from extension_harness.page.dialects import spelling
from extension_harness.page.dialects.spelling import JsonObject, Place
from extension_harness.page.truth import Fault, Message

_TIME_KEYS = ("sendTime", "createAt", "gmtChatLong", "gmtChat")


def sdk_message(row: Message, place: Place) -> object:
    """Return a row as the SDK's history hands it out."""
    if row.fault is Fault.NOT_AN_OBJECT:
        return spelling.not_an_object(row)
    text = row.kind == "text"
    made: JsonObject = {
        "messageType": _message_type(row),
        "msgType": 101 if text else row.page_type,
        "type": 2 if row.kind == "system" else 1,
        "subType": 1,
        "status": 2 if row.recalled else 1,
        "contactRead": place.read,
        "readStatus": 2 if place.read else 1,
        "autoReply": int(row.auto_reply),
        "spamStatus": 0,
        "owner": {"aliId": place.named.seller_id},
        "contact": {"name": place.named.name, "loginId": place.named.login_id},
        "loginId": place.named.login_id,
        "originPaasMessageData": {"message": {"extension": {}}},
    }
    _identify(made, row, place)
    key = _TIME_KEYS[row.number % 4] if row.fault is None else "sendTime"
    spelling.set_present(made, key, spelling.time_of(row))
    if not spelling.sender_missing(row):
        made["sender"] = _sender(row)
    _content(made, row)
    _quote(made, row)
    return made


def _message_type(row: Message) -> str:
    if row.recalled and row.number % 2:
        return "revoke"
    return "send" if row.outbound else "rec"


def _identify(made: JsonObject, row: Message, place: Place) -> None:
    spelled = spelling.cid(place.named, row.number, place.messy)
    made["cid" if row.number % 3 == 0 else "conversationCode"] = spelled
    if row.fault is Fault.NO_ID:
        if row.fault_variant:
            made.update(messageId=None, uuid="", code={})
        return
    digits = spelling.digits_of(row)
    if row.fault is Fault.BAD_ID:
        made["messageId"] = digits
    elif row.id_field == "uuid":
        made["uuid"] = digits
    elif row.id_field == "requestMessageId":
        made["code"] = {"messageId": f"{digits}.PNM"}
    else:
        made["messageId"] = int(digits)
        made["uuid"] = digits
        made["code"] = {"messageId": f"{digits}.PNM"}


def _sender(row: Message) -> object:
    if "M29" in row.codes:
        return (f"{row.sender_id}@icbu", int(row.sender_id))[row.number % 2]
    return {"targetId": row.sender_id, "targetType": 1}


def _content(made: JsonObject, row: Message) -> None:
    if row.recalled:
        made["content"] = ""
    elif row.kind in ("text", "system"):
        if row.content_spelling == "missing":
            return
        text = spelling.html(row.text or "", row.number)
        made["content"] = {"text": text} if row.content_spelling == "object" else text
    else:
        body = spelling.opened_body(row)
        made["content"] = "" if body is None else "[card]"
        if body is not None:
            as_string = row.number % 3 == 0 and isinstance(body, dict)
            made["originalData"] = json.dumps(body) if as_string else body


def _quote(made: JsonObject, row: Message) -> None:
    quote = spelling.quote_object(row, as_html=True, id_key="msgId")
    if quote is None:
        return
    match row.number % 5:
        case 0:
            made["extInfo"] = {"referMessage": quote}
        case 1:
            made["referMessage"] = quote
        case 2:
            made["ext"] = {"quoteMessage": quote}
        case 3:
            made["localExt"] = {"quoteMessage": quote}
        case _:
            origin = {"message": {"extension": {"quoteMessage": quote}}}
            made["originPaasMessageData"] = origin
