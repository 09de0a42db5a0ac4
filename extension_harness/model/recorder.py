"""What a page observed becomes facts and anomalies on disk (background/recorder.js)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from extension_harness.model.normal_form import (
    ReadAnomaly,
    ReadFact,
    anomaly_record,
    read_observation,
)
from extension_harness.model.steps import Behaviour, Digest, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.tasks import Life
from extension_harness.model.text import digest_of, to_text, utf16_slice
from storage_schema.onetalk import record_anomaly, record_batch

MAX_PART = 500


@dataclass(frozen=True)
class Observed:
    """Rows of one page; `conversation` None: each row says its own.

    `page` is set for a page of history: where the walk stands after it (OT-44).
    """

    account: str
    conversation: str | None
    observations: Sequence[Any]
    page: Json | None = None


class Recorder:
    """It ends when the write is on disk and raises when it is not (OT-30, OT-31)."""

    def __init__(self, life: Life, recorded: Callable[[Json], None]) -> None:
        self._life = life
        self._recorded = recorded

    def record(self, observed: Observed) -> Behaviour[list[Json]]:
        """Records a batch; gives what was recorded, by conversation and part."""
        account, now_ms = observed.account, self._life.now()
        facts, anomalies = _judged(observed, now_ms)
        if observed.observations:
            yield Digest()
        if observed.page is not None and observed.conversation is not None:
            facts.setdefault(observed.conversation, [])
        for anomaly in anomalies:
            if anomaly["conversationId"] not in facts:
                yield from verb("recordAnomaly", record_anomaly, anomaly)
        recorded: list[Json] = []
        for conversation, of_conversation in facts.items():
            own = [one for one in anomalies if one["conversationId"] == conversation]
            if_no_anchor = anomaly_record(
                {
                    "code": "incremental_anchor_not_found",
                    "messageId": None,
                    "observed": {},
                },
                account=account,
                conversation=conversation,
                surface="recorder",
                now_ms=now_ms,
            )
            yield Digest()
            for part, is_last in _in_parts(of_conversation):
                batch = {
                    "channelAccountId": account,
                    "conversationId": conversation,
                    "facts": part,
                    "anomalies": own if is_last else [],
                    "observedAtMs": now_ms,
                    # The position moves with the last part, never before its rows.
                    "page": observed.page if is_last else None,
                    "isPartOfPage": observed.page is not None,
                    "ifNoAnchor": if_no_anchor,
                }
                done: Json = yield from verb("recordBatch", record_batch, batch)
                recorded.append(done)
                self._recorded(done)
        return recorded

    def note(
        self, account: str, conversation: str, code: str, detail: Json
    ) -> Behaviour[None]:
        """Records an anomaly that the extension itself noticed."""
        anomaly = anomaly_record(
            {"code": code, "messageId": None, "observed": detail},
            account=account,
            conversation=conversation,
            surface="extension",
            now_ms=self._life.now(),
        )
        yield Digest()
        yield from verb("recordAnomaly", record_anomaly, anomaly)


def _judged(
    observed: Observed, now_ms: int
) -> tuple[dict[str, list[Json]], list[Json]]:
    """Every observation judged: facts by conversation, and anomalies."""
    facts: dict[str, list[Json]] = {}
    anomalies: list[Json] = []
    account, conversation = observed.account, observed.conversation
    for seen in observed.observations:
        read = read_observation(seen, account, conversation)
        surface = _surface_of(seen)
        if isinstance(read, ReadAnomaly):
            anomalies.append(
                anomaly_record(
                    read.found(),
                    account=account,
                    conversation=_home_of(seen, conversation),
                    surface=surface,
                    now_ms=now_ms,
                )
            )
            continue
        home = read.fact["conversationId"]
        facts.setdefault(home, []).append(_prepared(read, account, surface, now_ms))
    return facts, anomalies


def _surface_of(seen: Value) -> str:
    surface = seen.get("surface") if isinstance(seen, dict) else None
    return "unknown" if surface is None else to_text(surface)


def _home_of(seen: Value, conversation: str | None) -> str:
    named = conversation
    if named is None and isinstance(seen, dict):
        named = seen.get("conversationId")
    return utf16_slice(named, 256) if isinstance(named, str) else ""


def _prepared(read: ReadFact, account: str, surface: str, now_ms: int) -> Json:
    content = read.fact
    message_id = content["messageId"]
    fact: Json = {
        "content": content,
        "digest": digest_of(content),
        "ifConflict": anomaly_record(
            {"code": "conflict", "messageId": message_id, "observed": content},
            account=account,
            conversation=content["conversationId"],
            surface=surface,
            now_ms=now_ms,
        ),
    }
    if read.raw is not None:
        fact["raw"] = read.raw
    return fact


def _in_parts(facts: list[Json]) -> list[tuple[list[Json], bool]]:
    """At least one part, with whether it is the last."""
    starts = range(0, max(1, len(facts)), MAX_PART)
    return [
        (facts[start : start + MAX_PART], start + MAX_PART >= len(facts))
        for start in starts
    ]
