"""What a page knows of a buyer, into its ledger (background/buyer-facts.js)."""

from __future__ import annotations

import math

from extension_harness.model.ledger_writes import bounded, is_text, written_apart
from extension_harness.model.normal_form import MAX_ID
from extension_harness.model.redaction import redact
from extension_harness.model.steps import Behaviour, Digest, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.text import digest_of, utf16_length
from storage_schema.onetalk import record_buyer_facts

_TEXTS = ("country", "level", "qualityTag")
_NUMBERS = (
    "registeredAtMs",
    "productViewCount",
    "validInquiryCount",
    "repliedInquiryCount",
    "validRfqCount",
    "loginDays",
    "spamMarkCount",
    "blockListCount",
    "orderCount",
    "orderVolume",
    "tradeSupplierCount",
)
_MAX_ENTRIES = 50
_MAX_TEXT = 200
_MAX_INDUSTRIES = 20


def record_facts(account: str, entries: Value, at_ms: int) -> Behaviour[list[str]]:
    """Records facts of buyers; gives the conversations whose facts were taken.

    Raises:
        StoreError: `facts_not_recorded`, or what the whole store suffers from.
    """
    said = entries[:_MAX_ENTRIES] if isinstance(entries, list) else []
    write = _record(account, said, at_ms)
    return (yield from written_apart("facts_not_recorded", "Facts of buyers", write))


def _record(account: str, said: list[Value], at_ms: int) -> Behaviour[list[str]]:
    taken: list[str] = []
    for entry in said:
        name = entry.get("conversationId") if isinstance(entry, dict) else None
        if not is_text(name) or utf16_length(str(name)) > MAX_ID:
            continue
        facts = _facts_of(entry.get("facts"))
        if not facts:
            continue
        yield Digest()
        observed = {
            "channelAccountId": account,
            "conversationId": name,
            "facts": facts,
            "fingerprint": digest_of(facts),
            "observedAtMs": at_ms,
        }
        if (yield from verb("recordBuyerFacts", record_buyer_facts, observed)):
            taken.append(str(name))
    return taken


def _facts_of(said: Value) -> Json:
    said = said if isinstance(said, dict) else {}
    facts: Json = {
        name: bounded(said[name], _MAX_TEXT)
        for name in _TEXTS
        if is_text(said.get(name))
    }
    facts.update({n: said[n] for n in _NUMBERS if _is_count(said.get(n))})
    industries = said.get("industries")
    if isinstance(industries, list):
        texts = [each for each in industries if is_text(each)][:_MAX_INDUSTRIES]
        if texts:
            facts["industries"] = [bounded(each, _MAX_TEXT) for each in texts]
    cleaned: Json = redact(facts)
    return cleaned


def _is_count(value: Value) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0
