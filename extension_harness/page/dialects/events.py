"""Payloads of the page's event bus: the two message shapes, and the noise [M41]."""

from __future__ import annotations

import json

from extension_harness.page.dialects import spelling
from extension_harness.page.dialects.spelling import JsonObject, Place
from extension_harness.page.truth import Fault, Message

NEW = "BaaSMessageNew"
OWN = "BaaSMessageSendCallback"
CHANGED = "paas.message.changed"
_SLOTS = {"image": "image", "file": "file", "video": "video"}

NOISE: tuple[tuple[str, object], ...] = (
    ("paas.conversation.typingChange", {"cid": "typing", "typing": True}),
    ("paas.conversation.typingChange", None),
    ("BaaSMessageReadToSenderList", [{"messageId": "1", "read": True}]),
    ("BaaSConnectionStatus", 3),
    ("BaaSSyncTick", "tick"),
    ("paas.conversation.typingChange", {"cid": "typing", "typing": False}),
    ("BaaSHeartbeat", None),
)


def event_name(row: Message) -> str:
    """Return the event that announces a new message: own messages have their own."""
    return OWN if row.outbound else NEW


def payload(row: Message, place: Place) -> object:
    """Return the payload of a message event, in shape A or B by the id."""
    if row.fault is Fault.NOT_AN_OBJECT:
        return spelling.not_an_object(row)
    return shape_a(row, place) if row.number % 2 else shape_b(row, place)


def shape_a(row: Message, place: Place) -> JsonObject:
    """Return `{messageModel}`: the shape that the socket's model has, too."""
    model: JsonObject = {
        "content": _model_content(row),
        "receivers": [{"uid": f"{place.named.seller_id}@icbu"}],
        "unreadCount": 0 if place.read else 1,
        "extension": spelling.extension(row, as_html=True),
    }
    if row.fault is not Fault.NO_CONVERSATION:
        model["cid"] = place.named.page_cid
    if row.fault is not Fault.NO_ID:
        key = "uuid" if row.id_field == "uuid" else "messageId"
        model[key] = spelling.digits_of(row)
    spelling.set_present(model, "createAt", spelling.time_of(row))
    if not spelling.sender_missing(row):
        model["sender"] = {"uid": f"{row.sender_id}@icbu"}
    if row.recalled:
        model["status"] = 2
    return {"messageModel": model}


def _model_content(row: Message) -> JsonObject:
    if row.kind in ("text", "system"):
        text: JsonObject = {"content": spelling.html(row.text or "", row.number)}
        quote = spelling.quote_object(row, as_html=True, id_key="messageId")
        if quote is not None:
            text["extension"] = {"quoteMessage": quote}
        return {"contentType": row.page_type, "text": text}
    body = spelling.opened_body(row)
    slot = _SLOTS.get(row.kind, "card")
    if row.kind == "product_card":
        slot = "productCard"
    made: JsonObject = {"contentType": row.page_type}
    spelling.set_present(made, slot, body)
    return made


def shape_b(row: Message, place: Place) -> JsonObject:
    """Return the flat shape: `conversationCode`, `content`, `msgType`, `sender`."""
    made: JsonObject = {
        "msgType": 101 if row.kind == "text" else row.page_type,
        "messageType": "send" if row.outbound else "rec",
        "receiver": place.named.buyer_id,
        "owner": {"aliId": place.named.seller_id},
        "contact": {
            "name": place.named.name,
            "loginId": place.named.login_id,
            "accountId": int(place.named.account_id),
            "aliId": place.named.buyer_id,
        },
        "extension": spelling.extension(row, as_html=True),
    }
    if row.fault is not Fault.NO_CONVERSATION:
        made["conversationCode"] = spelling.cid(place.named, row.number, place.messy)
    _flat_identity(made, row)
    spelling.set_present(made, "sendTime", spelling.time_of(row))
    if not spelling.sender_missing(row):
        nested = {"targetId": row.sender_id}
        made["sender"] = row.sender_id if row.number % 4 else nested
    if row.recalled:
        made.update(status=2, messageType="revoke", content="")
    elif row.kind in ("text", "system"):
        made["content"] = spelling.html(row.text or "", row.number)
    elif row.body is not None:
        made["content"] = row.body
    return made


def _flat_identity(made: JsonObject, row: Message) -> None:
    if row.fault is Fault.NO_ID:
        return
    digits = spelling.digits_of(row)
    if row.id_field == "messageId":
        made["messageId"] = digits if row.number % 3 else f"{digits}.PNM"
    made["uuid"] = digits


def lwp_model(row: Message, place: Place) -> JsonObject:
    """Return a message as the socket carries it, where it carries bodies at all."""
    model = shape_a(row, place)["messageModel"]
    return {
        "message": model,
        "msgStatus": 2 if row.recalled else 1,
        "readStatus": 2 if place.read else 1,
        "recallFeature": {"recalled": True} if row.recalled else None,
        "userExtension": json.dumps({"fromAccId": place.named.account_id}),
    }
