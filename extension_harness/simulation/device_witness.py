"""What an extension's disk and words must be, after every step of its worker.

Only what a transaction has changed is looked at: a record that is the same object is
the same record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extension_harness.simulation.bright_witness import BrightWitness
from extension_harness.simulation.device import Device
from extension_harness.simulation.truth import Row, Scope, Truth
from extension_harness.simulation.violation import broken
from storage_schema.onetalk.names import (
    ALL_STORES,
    ANOMALIES,
    BOOTSTRAPS,
    BUYER_FACTS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    DATABASE_NAME,
    MESSAGES,
    PROFILES,
)

_STEPS: Final[Mapping[str | None, frozenset[str]]] = {
    None: frozenset({"awaiting_anchor", "pending_ack"}),
    "awaiting_anchor": frozenset({"pending_ack"}),
    "pending_ack": frozenset({"confirmed"}),
    "confirmed": frozenset({"pending_ack"}),
}
"""What may become of a candidate of a good message (OT-06)."""

_Records = dict[bytes, Any]


class DeviceWitness:
    """Looks at one device."""

    def __init__(self, device: Device, truth: Truth, bright: BrightWitness) -> None:
        self._device = device
        self._truth = truth
        self._bright = bright
        self._ledgers = bright.ledgers
        self._before: dict[str, _Records] = {name: {} for name in ALL_STORES}
        self._steps = 0
        self._looked_at = 0
        """At which step the uplink last asked what is pending."""
        self._since: dict[str, int] = {}
        """At which step each candidate became pending."""

    # The disk.

    def transacted(self, name: str) -> None:
        """A transaction is over."""
        self._steps += 1
        if name == "nextPending":
            self._looked_at = self._steps
        worker = self._device.worker
        fault = worker.background.faults.last if worker else None
        if fault is not None and fault.code == "unexpected":
            broken("no_fault", f"the worker met what it does not know: {fault.message}")
        stores = self.stores()
        for store, check in (
            (MESSAGES, self._message),
            (CANDIDATES, self._candidate),
            (CHECKPOINTS, self._checkpoint),
            (ANOMALIES, self._anomaly),
            (PROFILES, self._profile),
            (BOOTSTRAPS, self._bootstrap),
            (CARDS, self._card),
            (BUYER_FACTS, self._facts),
        ):
            now, before = stores.get(store, {}), self._before[store]
            if now is before:
                continue
            changed = [
                (each[0], before.get(key, (None,))[0])
                for key, each in now.items()
                if before.get(key) is not each
            ]
            fewest = len(before) + sum(1 for _, old in changed if old is None)
            # Facts that Bright refuses, as of the future, are dropped whole.
            if len(now) < fewest and (store, name) != (BUYER_FACTS, "dropBuyerFacts"):
                broken("no_loss", f"records went out of {store}")
            if changed or len(now) < len(before):
                self._before[store] = dict(now)
                for record, old in changed:
                    check(record, old)

    def stores(self) -> dict[str, _Records]:
        """Return what is stored now, as it is kept."""
        database = self._device.disk.factory.database(DATABASE_NAME)
        if database is None:
            return {}
        return {name: store.records for name, store in database.stores.items()}

    def records(self, store: str) -> list[Row]:
        """Return the records of a store."""
        return [each[0] for each in self.stores().get(store, {}).values()]

    def _message(self, record: Row, old: Row | None) -> None:
        scope = _scope(record)
        said = self._truth.by_scope.get(scope)
        if old is not None:
            broken("no_double", f"the fact {scope} was written over (OT-01)")
        self._own(record, MESSAGES)
        if said is None:
            broken("no_double", f"{scope} became a fact, and nobody ever said it")
        if (said.sent_at_ms, said.text) != (record["sentAtMs"], record["text"]):
            broken("no_double", f"{scope} became a fact with other content")

    def _candidate(self, record: Row, old: Row | None) -> None:
        scope, status = _scope(record), record["status"]
        self._own(record, CANDIDATES)
        if scope not in self._truth.by_scope:
            broken("no_double", f"a candidate for {scope}, which nobody ever said")
        before = None if old is None else old["status"]
        if before != status and status not in _STEPS.get(before, ()):
            broken(
                "candidate_states", f"{scope} went from {before} to {status} (OT-06)"
            )
        if status == "confirmed" and scope not in self._bright.ever_stored:
            broken(
                "no_early_confirmation", f"{scope} is confirmed, Bright never had it"
            )
        if status == "pending_ack" and before != status:
            self._since[record["candidateKey"]] = self._steps

    def _checkpoint(self, record: Row, old: Row | None) -> None:
        self._own(record, CHECKPOINTS)
        place = (record["channelAccountId"], record["conversationId"])
        if record["phase"] == "completed" and (
            old is None
            or old["phase"] != "completed"
            or old["anchorMessageId"] != record["anchorMessageId"]
        ):
            self._completed(place, record)
        elif old is not None and record["anchorMessageId"] != old["anchorMessageId"]:
            broken("no_early_anchor", f"the anchor of {place} moved without completion")

    def _completed(self, place: tuple[str, str], record: Row) -> None:
        anchor = record["anchorMessageId"]
        if (*place, anchor) not in self._bright.ever_anchored:
            broken("no_early_anchor", f"{place} is completed, Bright anchored nothing")
        if anchor != record["latestMessageId"] or not record["historyComplete"]:
            broken("no_early_anchor", f"{place} is completed elsewhere (OT-50)")
        for each in self.records(CANDIDATES):
            if (each["channelAccountId"], each["conversationId"]) != place:
                continue
            if each["status"] not in {"confirmed", "anomaly", "rejected"}:
                broken(
                    "no_early_anchor",
                    f"{place} is completed while {each['messageId']} is"
                    f" {each['status']} (OT-43)",
                )

    def _anomaly(self, record: Row, _old: Row | None) -> None:
        self._own(record, ANOMALIES)
        code, place = record["code"], record["conversationId"]
        if code == "missing_sender_id":
            where = (record["channelAccountId"], place)
            conversation = self._truth.conversations.get(where)
            rows = conversation.broken_rows if conversation else []
            if record["messageId"] not in {row["messageId"] for row in rows}:
                broken("scope", f"an anomaly in {place} of a row that was not there")
        elif code not in {"incremental_anchor_not_found", "history_cursor_stuck"}:
            broken("no_loss", f"a good row became the anomaly {code} in {place}")

    def _profile(self, record: Row, old: Row | None) -> None:
        self._own(record, PROFILES)
        pending = (old or {}).get("pending")
        if not pending or record.get("pending"):
            return
        # Uploaded or refused; uploaded only if Bright has had it, or a later one.
        place = (record["channelAccountId"], record["conversationId"])
        refused_at_ms = (old or {}).get("rejectedObservedAtMs")
        is_uploaded = record["rejectedObservedAtMs"] == refused_at_ms
        stored_at_ms = self._bright.ever_profiled.get(place, 0)
        if is_uploaded and stored_at_ms < pending["observedAtMs"]:
            broken(
                "no_early_confirmation",
                f"a profile of {place} is taken for uploaded, Bright never had it",
            )

    def _card(self, record: Row, old: Row | None) -> None:
        self._own(record, CARDS)
        before, status = (old or {}).get("status"), record["status"]
        if status not in {before, "pending_ack", "confirmed"}:
            broken("candidate_states", f"a card: {before} to {status} (OT-90)")
        if status == "confirmed" and _scope(record) not in self._ledgers.ever_cards:
            broken("no_early_confirmation", f"a card of {_scope(record)}, never stored")

    def _facts(self, record: Row, old: Row | None) -> None:
        self._own(record, BUYER_FACTS)
        if old is None or old["uploadedFingerprint"] == record["uploadedFingerprint"]:
            return
        where = (record["channelAccountId"], record["conversationId"])
        at_ms = record["observedAtMs"]
        is_confirmed = record["uploadedFingerprint"] == record["fingerprint"]
        is_same = old["observedAtMs"] == at_ms
        if is_confirmed and is_same and self._ledgers.ever_facts.get(where, 0) < at_ms:
            broken("no_early_confirmation", f"facts of {where}, never stored")

    def _bootstrap(self, record: Row, _old: Row | None) -> None:
        self._own(record, BOOTSTRAPS)

    def _own(self, record: Row, store: str) -> None:
        account = record["channelAccountId"]
        if account not in self._device.accounts:
            broken("scope", f"{store} of {self._device.accounts} has {account}")

    # The words.

    def told(self, body: Row) -> None:
        """A page was told that this is stored: it is (OT-30, OT-32)."""
        account = body["channelAccountId"]
        if "ledger" in body:
            store = CARDS if body["ledger"] == "cards" else BUYER_FACTS
            places = {each["conversationId"] for each in self.records(store)}
            if body["entries"][0]["conversationId"] not in places:
                broken("no_loss", f"{store} lacks what was said to be stored")
            return
        facts = {_scope(each) for each in self.records(MESSAGES)}
        odd = {each["messageId"] for each in self.records(ANOMALIES)}
        for row in body["rows"]:
            scope = (account, row["conversationId"], row["messageId"])
            if scope in self._truth.by_scope:
                if scope not in facts:
                    broken("no_loss", f"{scope} was said to be stored and is not")
            elif row["messageId"] not in odd:
                broken("no_loss", f"the broken row {scope} left no anomaly (OT-32)")

    def sends(self, frame: Row) -> None:
        """A frame goes out."""
        account = frame.get("channelAccountId")
        if account is not None and account not in self._device.accounts:
            broken(
                "scope", f"{frame['type']} of {account} was sent by another's device"
            )
        if frame["type"] == "observation.batch":
            self._judge_batch(frame)

    def _judge_batch(self, frame: Row) -> None:
        """Durable first; released only; oldest first (OT-30, OT-41, OT-42)."""
        place = (frame["channelAccountId"], frame["conversationId"])
        sent = [each["candidateKey"] for each in frame["messages"]]
        if sent != sorted(sent):
            broken("order", f"a batch of {place} is not oldest first")
        known = {each["candidateKey"]: each for each in self.records(CANDIDATES)}
        for key in sent:
            if key not in known:
                broken("durable_first", f"{key} was sent before it was stored")
            if known[key]["status"] == "awaiting_anchor":
                broken("no_early_upload", f"{key} was sent while it waits (OT-41)")
        for key, each in known.items():
            if (
                (each["channelAccountId"], each["conversationId"]) == place
                and each["status"] == "pending_ack"
                and key not in sent
                and key < sent[-1]
                and self._since.get(key, 0) < self._looked_at
            ):
                broken("order", f"{sent[-1]} went before {key}, which is older")


def _scope(record: Row) -> Scope:
    return (
        record["channelAccountId"],
        record["conversationId"],
        record["messageId"],
    )
