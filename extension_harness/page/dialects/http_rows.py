"""Rows of the HTTP history answers: `listRecentMessage`, `getChatMessageList`."""

from __future__ import annotations

from extension_harness.page.dialects import spelling
from extension_harness.page.dialects.spelling import JsonObject, Place
from extension_harness.page.truth import Fault, Message


def recent_row(row: Message, place: Place) -> object:
    """Return a row of `listRecentMessage.htm`: plain text, `.PNM` ids, numbers."""
    if row.fault is Fault.NOT_AN_OBJECT:
        return spelling.not_an_object(row)
    made: JsonObject = {
        "conversationId": place.named.page_cid,
        "messageSendType": "send" if row.outbound else "rec",
        "messageType": row.page_type,
        "chatType": 1,
        "contactRead": place.read,
        "systemMessage": row.kind == "system",
        "autoReply": row.auto_reply,
        "extension": spelling.extension(row, as_html=False),
        "showTime": row.position_ms + row.show_time_offset_ms,
    }
    _identify(made, row, f"{spelling.digits_of(row)}.PNM")
    spelling.set_present(made, "sendTime", spelling.time_of(row))
    spelling.set_present(made, "content", spelling.plain_content(row))
    if not spelling.sender_missing(row):
        made["senderAliId"] = int(row.sender_id)
    if not row.lacks_receiver:
        made["receiverAliId"] = int(_receiver(row, place))
    if row.recalled:
        made["status"] = 2
    return made


def _identify(made: JsonObject, row: Message, message_id: str) -> None:
    if row.fault is Fault.NO_ID:
        if row.fault_variant:
            made.update({"messageId": None, "uuid": ""})
        return
    made["messageId"] = message_id


def _receiver(row: Message, place: Place) -> str:
    return place.named.buyer_id if row.outbound else place.named.seller_id


def legacy_row(row: Message, place: Place) -> object:
    """Return a row of `getChatMessageList.htm`: string ids under several names."""
    if row.fault is Fault.NOT_AN_OBJECT:
        return spelling.not_an_object(row)
    made: JsonObject = {"extension": spelling.extension(row, as_html=False)}
    _legacy_identity(made, row, place)
    _legacy_kind(made, row)
    spelling.set_present(made, "sendTime", spelling.time_of(row))
    content = spelling.plain_content(row, as_object=True)
    spelling.set_present(made, "content", content)
    if not spelling.sender_missing(row):
        suffix = "@icbu" if "M29" in row.codes else ""
        made["senderAliId"] = f"{row.sender_id}{suffix}"
    if place.foreign:
        made["conversationId"] = place.named.page_cid
    return made


def _legacy_identity(made: JsonObject, row: Message, place: Place) -> None:
    if row.fault is Fault.NO_ID:
        _identify(made, row, "")
        return
    digits = spelling.digits_of(row)
    if row.id_field != "messageId":
        made[row.id_field] = digits
        return
    spelled: object = digits
    if "M02" in place.messy and row.fault is None:
        spelled = (digits, int(digits), f"{digits}.PNM")[row.number % 3]
    made["messageId"] = spelled
    made["uuid"] = digits


def _legacy_kind(made: JsonObject, row: Message) -> None:
    direction = "send" if row.outbound else "rec"
    if row.recalled:
        made.update(
            messageType="revoke", messageSendType=direction, subType=row.page_type
        )
    elif row.number % 2:
        made.update(messageType=direction, subType=row.page_type)
    else:
        made.update(messageType=row.page_type, messageSendType=direction)
