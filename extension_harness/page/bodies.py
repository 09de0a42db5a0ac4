"""The bodies of messages that are not texts: images, files and cards, as JSON texts."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from extension_harness.page import words

CARD = 10010  # the page's number of a row whose real kind is its cardType


@dataclass(frozen=True, slots=True)
class Body:
    """A kind, the page's number for it, and the JSON text of its content."""

    kind: str
    page_type: int
    json_text: str | None


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _card(kind: str, card_type: int, params: object) -> Body:
    return Body(kind, CARD, _dump({"cardType": card_type, "params": params}))


def _common(rng: random.Random) -> dict[str, object]:
    return {
        "ctime": str(1_760_000_000_000 + rng.randrange(10**9)),
        "from": f"us15{rng.randrange(10**8):08d}abcd",
        "to": "bjshop1",
        "sign": "".join(rng.choices("0123456789ABCDEF", k=40)),
    }


def image(rng: random.Random) -> Body:
    """An image; addresses come plain, signed and protocol-relative."""
    name = words.opaque(rng, 12)
    address = f"//sc04.alicdn.com/kf/{name}.png"
    if rng.random() < 0.5:
        address = f"https:{address}"
    if rng.random() < 0.3:
        address += f"?Expires={rng.randrange(10**9)}&Signature={words.opaque(rng, 20)}"
    size: dict[str, object] = {
        "width": rng.choice((640, 800, 1080)),
        "height": rng.choice((480, 600, 1440)),
        "size": rng.randrange(10_000, 900_000),
    }
    if rng.random() < 0.3:
        size = {key: str(value) for key, value in size.items()}
    return Body("image", 60, _dump({"url": address, **size, "suffix": "png"}))


def file(rng: random.Random) -> Body:
    """A file, as the numbers 53 and 61 or as card 12."""
    name = f"{rng.choice(words.FILE_NAMES)} {rng.randrange(100)}.pdf"
    params: dict[str, object] = {
        "name": name,
        "size": rng.randrange(1_000, 9_000_000),
        "url": f"https://clouddisk.alibaba.com/file/{words.opaque(rng, 16)}?t=1",
        "extensionType": "pdf",
    }
    if rng.random() < 0.3:
        extra = {"id": rng.randrange(10**9), "parentId": 0, "md5": "0" * 32}
        return _card("file", 12, {**params, **extra})
    return Body("file", rng.choice((53, 61)), _dump({"params": params}))


def video(rng: random.Random) -> Body:
    """A video clip."""
    url = (
        f"//sc04.alicdn.com/kf/{words.opaque(rng, 12)}.mp4?auth_key={rng.randrange(99)}"
    )
    return Body("video", 62, _dump({"url": url, "duration": rng.randrange(5, 90)}))


def business_card(rng: random.Random) -> Body:
    """A business card: personal data that must not be kept."""
    params = {
        "showCompanyName": True,
        "showEmailAddress": True,
        "email": "someone@example.com",
        **_common(rng),
    }
    if rng.random() < 0.5:
        return Body("business_card", 57, _dump({"params": params}))
    return _card("business_card", rng.choice((1, 23)), params)


def inquiry(rng: random.Random) -> Body:
    """An inquiry; its ids are secrets."""
    params = {
        "encryFeedbackId": words.opaque(rng, 30, "MC1IDX1"),
        "encryTradeId": words.opaque(rng, 30, "MC1IDX1"),
        "fbType": rng.choice(("INQUIRY", "RFQ")),
        "marketType": "wholesale",
        "source": rng.choice(("ANDROID_BUYER", "PC_BUYER")),
        **_common(rng),
    }
    if rng.random() < 0.5:
        return Body("inquiry", rng.choice((50, 63)), _dump({"params": params}))
    return _card("inquiry", 6, params)


def product_card(rng: random.Random) -> Body:
    """One or several products."""
    ids = [str(1_601_000_000_000 + rng.randrange(10**9)) for _ in range(3)]
    if rng.random() < 0.4:
        return _card("product_card", 3, {"id": int(ids[0]), **_common(rng)})
    body = {"cardType": 2000, "params": {"ids": ",".join(ids[: rng.randrange(1, 4)])}}
    return Body("product_card", 2000, _dump(body))


def order_card(rng: random.Random) -> Body:
    """An order; the amounts are base64 JSON inside the params."""
    inner = {
        "orderAmount": f"{rng.randrange(100, 9000)}.50",
        "paymentAmount": "0.00",
        "currency": rng.choice(("USD", "EUR")),
        "statusMessageKey": "unpaid",
    }
    params = {
        "orderId": f"{rng.randrange(10**17, 10**18)}",
        "contractId": rng.randrange(10**9),
        "bizCode": "TA",
        "params": base64.b64encode(_dump(inner).encode()).decode(),
        **_common(rng),
    }
    return _card("order_card", 9, params)


def quote_card(rng: random.Random) -> Body:
    """A quotation."""
    body = {"quoteProductId": rng.randrange(10**12), "quoId": str(rng.randrange(10**9))}
    return Body("quote_card", rng.choice((2028, 2098)), _dump({**body, **_common(rng)}))


def address_card(rng: random.Random) -> Body:
    """A postal address."""
    body = {
        "contactName": words.person(rng),
        "companyAddress": f"{rng.randrange(1, 200)} Harbour Road",
        "companyTel": f"+49 30 555{rng.randrange(10_000):04d}",
        "zipCode": f"{rng.randrange(10_000, 99_999)}",
        "countryCode": rng.choice(words.COUNTRIES),
    }
    return Body("address_card", 2013, _dump({**body, **_common(rng)}))


def request_card(rng: random.Random) -> Body:
    """A kind that nobody has a name for: kept whole."""
    body = {
        "productId": 1_601_000_000_000 + rng.randrange(10**9),
        "skuSelectList": _dump([{"sku": rng.randrange(99), "count": 10}]),
        "totalPrice": {"amount": rng.randrange(1, 999), "unit": "USD"},
        "note": None,
        **_common(rng),
    }
    return Body("unknown", rng.choice((2111, 2008, 2017, 8, 20)), _dump(body))


CARDS: tuple[Callable[[random.Random], Body], ...] = (
    product_card,
    order_card,
    inquiry,
    quote_card,
    address_card,
    business_card,
    request_card,
    video,
)
