"""Profiles out of the page's lists into their ledger (background/profiles.js)."""

from __future__ import annotations

from collections.abc import Sequence

from extension_harness.model.ledger_writes import written_apart
from extension_harness.model.redaction import redact
from extension_harness.model.steps import Behaviour, Digest, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.text import (
    digest_of,
    utf16_length,
    utf16_slice,
    well_formed,
)
from storage_schema.onetalk import observe_profiles

_FIELDS = ("name", "companyName", "loginId", "country", "level", "portrait")
_MAX_ID = 64
_MAX_TEXT = 500


def record_profiles(
    account: str, rows: Sequence[Json], observed_at_ms: int
) -> Behaviour[int]:
    """Records what a part of a list says of its contacts.

    Gives how many of them Bright does not know yet.

    Raises:
        StoreError: `profiles_not_recorded`, or what the whole store suffers from.
    """
    write = _record(account, rows, observed_at_ms)
    what = f"The profiles of {len(rows)} contacts"
    return (yield from written_apart("profiles_not_recorded", what, write))


def _record(account: str, rows: Sequence[Json], at_ms: int) -> Behaviour[int]:
    observed = _observed_in(account, rows, at_ms)
    if not observed:
        return 0
    yield Digest()
    counts: Json = yield from verb(
        "observeProfiles", observe_profiles, account, observed, at_ms
    )
    return int(counts["pending"])


def _observed_in(account: str, rows: Sequence[Json], at_ms: int) -> list[Json]:
    observed: list[Json] = []
    for row in rows:
        contact = row.get("contact")
        contact = contact if isinstance(contact, dict) else {}
        ali_id = contact.get("aliId")
        if not _is_id(ali_id) or ali_id == account:  # OT-86
            continue
        profile = _profile_of(contact.get("profile"))
        if profile:
            observed.append(
                {
                    "conversationId": row["conversationId"],
                    "aliId": ali_id,
                    "profile": profile,
                    "fingerprint": digest_of({"aliId": ali_id, "profile": profile}),
                    "observedAtMs": at_ms,
                }
            )
    return observed


def _is_id(value: Value) -> bool:
    return isinstance(value, str) and value != "" and utf16_length(value) <= _MAX_ID


def _profile_of(said: Value) -> Json:
    """Only the known fields, as bounded texts, without what looks like a secret."""
    said = said if isinstance(said, dict) else {}
    known = {
        name: well_formed(utf16_slice(said[name], _MAX_TEXT))
        for name in _FIELDS
        if isinstance(said.get(name), str) and said[name] != ""
    }
    cleaned: Json = redact(known)
    return cleaned
