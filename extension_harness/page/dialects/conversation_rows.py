"""Conversations in the dialects of the page's lists, and the contact in its answers."""

from __future__ import annotations

from extension_harness.page.dialects import spelling
from extension_harness.page.dialects.spelling import JsonObject, Place
from extension_harness.page.truth import Conversation, Message


def _contact(chat: Conversation, generation: int) -> JsonObject:
    return {
        "name": chat.name,
        "companyName": chat.company,
        "loginId": chat.login_id,
        "loginIdEncrypt": spelling.opaque_id(chat.login_id, generation),
        "accountId": int(chat.account_id),
        "accountIdEncrypt": spelling.opaque_id(chat.account_id, generation),
        "aliId": chat.buyer_id,
        "aliIdEncrypt": spelling.opaque_id(chat.buyer_id, generation),
        "chatToken": spelling.chat_token(chat, generation),
        "fullPortrait": f"//sc04.alicdn.com/kf/portrait-{chat.number % 12}.svg",
        "complianceCountryCode": chat.country,
        "userNewLevel": chat.level,
        "userNewLevelIcon": f"//sc04.alicdn.com/kf/badge-{chat.level}.svg",
        "memberId": str(220_000_001 + chat.number),
    }


def preview(latest: Message | None) -> str:
    """Return the line that a list shows of its newest message."""
    if latest is None:
        return ""
    if latest.recalled:
        return "[recalled]"
    return (latest.text or f"[{latest.kind}]")[:80]


def full_row(chat: Conversation, latest: Message | None, place: Place) -> JsonObject:
    """Return an item of `__conversationListFullData__` and of the SDK's list."""
    at_ms = latest.position_ms if latest else 0
    made: JsonObject = {
        "conversationCode" if chat.number % 3 == 0 else "cid": chat.page_cid,
        "name": chat.name,
        "companyName": chat.company,
        "loginId": chat.login_id,
        "accountId": int(chat.account_id),
        "aliId": chat.buyer_id,
        "contact": _contact(chat, place.generation),
        "owner": {
            "aliId": chat.seller_id,
            "name": "Seller",
            "accountIdEncrypt": spelling.opaque_id(chat.seller_id, place.generation),
        },
        "unreadCount": chat.unread,
        "lastContactTime": at_ms,
        "lastContactTimeLong": at_ms,
        "modifyTime": at_ms,
        "visible": chat.visible,
        "mute": chat.muted,
        "block": chat.blocked,
        "stayTop": False,
        "conversationType": "group" if chat.group else "direct",
    }
    if latest is not None:
        made["latestMessage"] = {
            "messageId": int(spelling.digits_of(latest)),
            "messageType": "send" if latest.outbound else "rec",
            "gmtChat": at_ms,
            "gmtChatLong": at_ms,
            "content": preview(latest),
        }
    return made


def vm_cache_row(
    chat: Conversation, latest: Message | None, place: Place
) -> JsonObject:
    """Return an item of `__VMFsConv__cache__`; incomplete ones lack encrypted ids."""
    made: JsonObject = {
        "cid": chat.page_cid,
        "contactAccountId": int(chat.account_id),
        "contactAliId": chat.buyer_id,
        "chatToken": spelling.chat_token(chat, place.generation),
        "selfAliId": chat.seller_id,
        "unreadCount": chat.unread,
        "contactNick": chat.name,
    }
    if chat.complete_ids:
        account = spelling.opaque_id(chat.account_id, place.generation)
        made["encryptContactAccountId"] = account
        made["encryptContactAliId"] = spelling.opaque_id(
            chat.buyer_id, place.generation
        )
    if latest is not None:
        made["latestMessage"] = {
            "messageId": spelling.digits_of(latest),
            "content": preview(latest),
            "sendTime": latest.position_ms,
            "senderAliId": latest.sender_id,
            "messageType": latest.page_type,
            "messageSendType": "send" if latest.outbound else "rec",
        }
    return made


def unread_row(chat: Conversation, latest: Message | None, place: Place) -> JsonObject:
    """Return an item of `unread.htm`: the id has no `@icbu` here [M03]."""
    at_ms = latest.position_ms if latest else 0
    made: JsonObject = {
        "cid": chat.page_cid.removesuffix("@icbu"),
        "loginId": chat.login_id,
        "companyName": chat.company,
        "name": chat.name,
        "accountId": int(chat.account_id),
        "accountIdEncrypt": spelling.opaque_id(chat.account_id, place.generation),
        "chatToken": spelling.chat_token(chat, place.generation),
        "unreadCount": chat.unread,
        "mute": chat.muted,
        "block": chat.blocked,
        "stayTop": False,
        "lastContactTime": at_ms,
        "lastContactTimeLong": at_ms,
    }
    if latest is not None:
        made["lastMsg"] = {
            "toId": chat.seller_id,
            "fromId": latest.sender_id,
            "msgType": latest.page_type,
            "unread": True,
            "paasMsgId": f"{spelling.digits_of(latest)}.PNM",
            "sendType": "send" if latest.outbound else "rec",
            "time": latest.position_ms,
            "content": preview(latest),
        }
    return made


def lwp_row(chat: Conversation, latest: JsonObject | None, at_ms: int) -> JsonObject:
    """Return an item of the socket's `userConvs`."""
    pair = chat.page_cid.partition("#")[0].split("-")
    return {
        "type": 1,
        "singleChatUserConversation": {
            "visible": 1 if chat.visible else 0,
            "modifyTime": at_ms,
            "redPoint": chat.unread,
            "lastMessage": latest,
            "singleChatConversation": {
                "cid": chat.page_cid,
                "pairFirst": f"{pair[0]}@icbu",
                "pairSecond": f"{pair[1]}@icbu",
            },
        },
    }


def contact_detail(chat: Conversation, place: Place) -> JsonObject:
    """Return an item of `listRecentConversationContactDetail.htm`."""
    return {**_contact(chat, place.generation), "available": True, "joiningYears": 3}


def customer_card(chat: Conversation, place: Place) -> JsonObject:
    """Return `queryCustomerInfo`'s answer: hidden metrics are -1, some null [M33]."""
    first, _, last = chat.name.partition(" ")
    return {
        "buyerInfo": {
            "firstName": first,
            "lastName": last,
            "companyName": chat.company,
            "country": chat.country,
            "encryptAccountId": spelling.opaque_id(chat.account_id, place.generation),
            "buyerLoginId": chat.login_id if chat.number % 2 else "",
            "registerDate": 1_600_000_000 + chat.number * 86_400,
            "growthLevelInfo": {"growthLevel": chat.level},
            "preferredIndustries": ["Hardware"],
            "productViewCount": -1 if chat.number % 4 == 0 else chat.number,
            "validInquiryCount": chat.number % 9,
            "validRfqCount": -1,
            "loginDays": None if chat.number % 3 == 0 else chat.number % 90,
            "totalOrderCount": chat.number % 5,
            "totalOrderVolume": -1,
        },
        "alicrmCustomerInfo": {},
    }
