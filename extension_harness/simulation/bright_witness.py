"""What Bright's disk and words must be, at every commit and at every frame sent."""

from __future__ import annotations

import json
from typing import Any

from extension_harness.simulation.bright_ledgers import BrightLedgers
from extension_harness.simulation.server.disk import ServerDisk
from extension_harness.simulation.truth import Row, Scope, Truth
from extension_harness.simulation.violation import broken

_MESSAGES = """
SELECT c.channel_account_id, c.conversation_id, m.message_id, m.sequence, m.position,
    m.sent_at_ms, m.text
FROM message AS m JOIN conversation AS c USING (conversation) WHERE m.position > ?
ORDER BY m.position
"""
_ANCHORS = """
SELECT c.channel_account_id, c.conversation_id, a.message_id
FROM anchor AS a JOIN conversation AS c USING (conversation)
"""
_PROFILES = """
SELECT c.channel_account_id, c.conversation_id, p.observed_at_ms, p.fingerprint,
    p.profile
FROM contact_profile AS p JOIN conversation AS c USING (conversation)
"""
_FILLED = " UNION ALL ".join(
    f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})"  # noqa: S608 - constants
    for table in ("card_conflict", "conflict")
)
"""Names those of the tables that nothing in a history may fill, and something has."""

Place = tuple[str, str]


class BrightWitness:
    """Knows what is committed, by reading it back after every commit."""

    def __init__(self, truth: Truth, disk: ServerDisk) -> None:
        self._truth = truth
        self._disk = disk
        self.stored: dict[Scope, int] = {}
        """Each message of the present store, with its sequence."""
        self.ever_stored: set[Scope] = set()
        self.anchors: dict[Place, str] = {}
        self.ever_anchored: set[Scope] = set()
        self.profiles: dict[Place, tuple[int, str]] = {}
        """Of each contact when it was observed, and the fingerprint."""
        self.ever_profiled: dict[Place, int] = {}
        """Of each contact the newest observation that any store has had."""
        self.ledgers = BrightLedgers(truth, disk)
        self._position = 0
        self._proven: set[Scope] = set()
        """What the present store has anchored, or once had."""

    # The disk.

    def restored(self) -> None:
        """The store is another: read all of it."""
        self.stored, self.anchors, self.profiles = {}, {}, {}
        self._position = 0
        self._read_messages()
        self._read_profiles()
        self.ledgers.restored()
        self.anchors = {(a, c): m for a, c, m in self._rows(_ANCHORS)}
        self._proven = {(a, c, m) for (a, c), m in self.anchors.items()}

    def committed(self) -> None:
        """A transaction is over: what it left must be true."""
        self._read_messages()
        self._read_anchors()
        self._read_profiles()
        self.ledgers.read()
        for (table,) in self._rows(_FILLED):
            broken("no_double", f"Bright has something in {table} that no page said")

    def _read_messages(self) -> None:
        for account, place, name, sequence, position, at_ms, text in self._rows(
            _MESSAGES, (self._position,)
        ):
            scope = (account, place, name)
            said = self._truth.by_scope.get(scope)
            if said is None:
                broken("no_double", f"Bright has {scope}, which nobody ever said")
            if (said.sent_at_ms, said.text) != (at_ms, text):
                broken("no_double", f"Bright has {scope} with other content")
            if scope in self.stored:
                broken("no_double", f"Bright has {scope} twice")
            if position != self._position + 1:
                broken("order", f"position {position} after {self._position}")
            self.stored[scope] = sequence
            self.ever_stored.add(scope)
            self._position = position

    def _read_anchors(self) -> None:
        for account, place, name in self._rows(_ANCHORS):
            if self.anchors.get((account, place)) == name:
                continue
            scope = (account, place, name)
            self.anchors[account, place] = name
            self.ever_anchored.add(scope)
            self._proven.add(scope)
            self._judge_anchor(scope)

    def _judge_anchor(self, scope: Scope) -> None:
        """An anchor is the proven end: all before it is committed (OT-43)."""
        end = self._truth.by_scope.get(scope)
        if end is None or scope not in self.stored:
            broken("no_early_anchor", f"Bright anchors {scope}, which it does not have")
        for each in self._truth.conversations[scope[0], scope[1]].messages:
            if each.order <= end.order and each.scope not in self.stored:
                broken(
                    "no_early_anchor",
                    f"Bright anchors {scope} and does not have {each.scope}",
                )

    def _read_profiles(self) -> None:
        for account, place, at_ms, fingerprint, profile in self._rows(_PROFILES):
            before = self.profiles.get((account, place))
            if before == (at_ms, fingerprint):
                continue
            if before is not None and before[0] > at_ms:
                broken("latest_wins", f"an older profile of {place} won (OT-81)")
            self._judge_profile(account, place, json.loads(profile))
            self.profiles[account, place] = (at_ms, fingerprint)
            newest = max(at_ms, self.ever_profiled.get((account, place), 0))
            self.ever_profiled[account, place] = newest

    def _judge_profile(self, account: str, place: str, profile: Row) -> None:
        contact = self._truth.conversations.get((account, place))
        name = str(profile.get("name"))
        versions = contact.profile_version if contact else 0
        if name not in {f"{place} v{n}" for n in range(1, versions + 1)}:
            broken(
                "scope", f"Bright has a profile in {account}/{place} that is not its"
            )

    def _rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        return self._disk.database.execute(sql, parameters).fetchall()

    # The words.

    def sends(self, accounts: tuple[str, ...], text: str) -> None:
        """A frame leaves: what it says of the disk must be so on the disk."""
        frame = json.loads(text)
        kind = frame["type"]
        account = frame.get("channelAccountId")
        if account is not None and account not in accounts and kind != "ws.error":
            broken("scope", f"{kind} of {account} went to a binding of {accounts}")
        if kind == "observation.ack":
            self._judge_ack(frame)
        elif kind == "anchor.snapshot":
            self._judge_snapshot(accounts, frame)
        elif kind == "contact.profile.ack":
            self._judge_profile_ack(frame)
        elif kind in {"card.rendered.ack", "buyer.facts.ack"}:
            self.ledgers.acknowledges(frame)
        elif kind == "welcome" and not set(frame["accounts"]) <= set(accounts):
            broken("scope", f"a binding of {accounts} was welcomed for more")

    def _judge_ack(self, frame: Row) -> None:
        place = (frame["channelAccountId"], frame["conversationId"])
        for result in frame["results"]:
            scope = (*place, result["messageId"])
            status = result["status"]
            if status == "confirmed" and scope not in self.stored:
                broken("ack_means_disk", f"{scope} was ACKed and is not on the disk")
            if status == "confirmed" and result["sequence"] != self.stored[scope]:
                broken("ack_means_disk", f"{scope} was ACKed with another sequence")
            if status in {"conflict", "rejected"} and scope in self._truth.by_scope:
                broken("no_loss", f"{scope} is a good message and was {status}")

    def _judge_snapshot(self, accounts: tuple[str, ...], frame: Row) -> None:
        for anchor in frame["anchors"]:
            place = (anchor["channelAccountId"], anchor["conversationId"])
            if place[0] not in accounts:
                broken("scope", f"an anchor of {place} went to {accounts}")
            # One that has moved on meanwhile was proven all the same.
            if (*place, anchor["latestMessageId"]) not in self._proven:
                broken("ack_means_disk", f"an anchor of {place} was told that is none")

    def _judge_profile_ack(self, frame: Row) -> None:
        for ack in frame["acks"]:
            place = (frame["channelAccountId"], ack["conversationId"])
            at_ms, _ = self.profiles.get(place, (-1, ""))
            if at_ms < ack["observedAtMs"]:
                broken("ack_means_disk", f"a profile of {place} was ACKed unstored")
