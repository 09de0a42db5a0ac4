"""Spellings that several surfaces share: ids, times, HTML, opaque ids, faults."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from extension_harness.page.truth import Conversation, Fault, Message

JsonObject = dict[str, object]
_SMILY = re.compile(r":(smile|rose):")
_BREAKS = ("<br/>", "<br>", "<br />")
_ODD_TIMES: tuple[object, ...] = (0, "NaN", None, -5, "yesterday")
_CHINA = timezone(timedelta(hours=8))


@dataclass(frozen=True, slots=True)
class Place:
    """What a dialect has to know beside the row itself.

    `named` is the conversation that the row names: of a foreign row another one than it
    is shown in. `generation` is that of the encrypted ids; `read` the read flag [M24].
    """

    account: str
    named: Conversation
    messy: frozenset[str]
    generation: int = 0
    read: bool = False
    foreign: bool = False


def html(text: str, number: int) -> str:
    """Return `text` as the SDK has it: entities, breaks, emoji as images, markup.

    The reverse of rule 1 of the normal form; `number` picks among equal spellings.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = text.replace('"', "&quot;").replace("'", "&#39;")
    if number % 2:
        text = text.replace("\u00a0", "&nbsp;")
    text = text.replace("\r\n", "\n").replace("\n", _BREAKS[number % 3])
    text = _SMILY.sub(r'<img src="//sc04.alicdn.com/smily/\1.png" class="e">', text)
    return f"<span>{text}</span>" if number % 5 == 0 else text


def opaque_id(identity: str, generation: int) -> str:
    """Return the encrypted id of an account or person: another one each generation."""
    digest = hashlib.blake2b(f"{generation}:{identity}".encode(), digest_size=36)
    return "MC1IDX1" + base64.urlsafe_b64encode(digest.digest()).decode()


def chat_token(conversation: Conversation, generation: int) -> str:
    """Return the opaque token of a conversation."""
    seed = opaque_id(conversation.conversation_id, generation).encode()
    return base64.b64encode(seed * 2).decode()


def cid(conversation: Conversation, number: int, messy: frozenset[str]) -> str:
    """Return the conversation's id in one of its spellings [M03]."""
    full = conversation.page_cid
    if "M03" not in messy:
        return full
    pair, _, _ = full.partition("#")
    first, second = pair.split("-")
    spelled = [
        full,
        full.removesuffix("@icbu"),
        f"{second}-{first}{conversation.suffix}@icbu",
        pair if conversation.suffix == "#11011" else full,
    ]
    return spelled[number % 4]


def time_of(row: Message) -> object:
    """Return the row's time as the page spells it [M26, M28]; None: leave it out."""
    if row.fault is Fault.BAD_TIME:
        return _ODD_TIMES[row.fault_variant]
    if row.time_spelling == "seconds":
        return row.position_ms // 1000
    if row.time_spelling == "digits":
        return str(row.position_ms)
    if row.time_spelling == "iso":
        zone = _CHINA if row.number % 2 else UTC
        seconds, ms = divmod(row.position_ms, 1000)
        moment = datetime.fromtimestamp(seconds, zone).replace(microsecond=ms * 1000)
        text = moment.isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    return row.position_ms


def digits_of(row: Message) -> str:
    """Return the row's id without any suffix, or the odd thing in its place."""
    if row.fault is Fault.BAD_ID:
        return "9" * 300 if row.fault_variant == 0 else f"{row.number}\x00\ud83d"
    return str(row.number)


def set_present(target: JsonObject, key: str, value: object) -> None:
    """Set a field unless there is nothing to set."""
    if value is not None:
        target[key] = value


def not_an_object(row: Message) -> object:
    """Return what stands where a message belongs: null, a number or a string."""
    return (None, 17, "row")[row.fault_variant]


def sender_missing(row: Message) -> bool:
    """True for a row that has no sender."""
    return row.fault is Fault.NO_SENDER


def plain_content(row: Message, *, as_object: bool = False) -> object:
    """Return the content of a surface that carries plain strings; None: no content."""
    if row.recalled:
        return ""
    if row.kind in ("text", "system"):
        if row.content_spelling == "missing":
            return None
        if row.content_spelling == "object" and as_object:
            return {"text": row.text}
        return row.text
    if row.body is None:
        return ""
    if as_object and row.content_spelling == "object":
        return json.loads(row.body)
    return row.body


def opened_body(row: Message) -> object:
    """Return the body as an object where it is one, else the string that it is."""
    if row.body is None:
        return None
    try:
        return json.loads(row.body)
    except ValueError:
        return row.body


def quote_object(row: Message, *, as_html: bool, id_key: str) -> object:
    """Return the quote as the surface has it: an object or a JSON string [M25]."""
    if row.quote is None:
        return None
    text = row.quote.text
    quoted: JsonObject = {id_key: f"{row.quote.message_id}.PNM", "msgType": 101}
    if text is not None:
        key = "content" if row.number % 2 else "contentDisplay"
        quoted[key] = html(text, row.number) if as_html else text
    return json.dumps(quoted) if row.quote.as_string else quoted


def extension(row: Message, *, as_html: bool) -> object:
    """Return the row's `extension`: an object, a JSON string, or malformed [M19]."""
    info: JsonObject = {
        "clientInfo": "web_messenger",
        "autoReply": row.auto_reply,
        "systemMessage": row.kind == "system",
        "entranceSource": "onetalk",
    }
    made: JsonObject = {"basicMessageInfo": info}
    quote = quote_object(row, as_html=as_html, id_key="messageId")
    if quote is not None:
        made["quoteMessage"] = quote
    if "M19" not in row.codes:
        return made
    odd = {**info, "autoReply": "false", "systemMessage": 0}
    return (
        {"basicMessageInfo": json.dumps(odd)},
        json.dumps(made),
        '{"basicMessageInfo":{oops',
    )[row.number % 3]
