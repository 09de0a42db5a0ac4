"""Where things lie in Redis: names of keys, and which of them share a slot. No I/O.

The name of every key has one part in braces, its tag; keys of one tag lie in one slot,
also of a cluster. There are as many tags as the database has shards, a bounded number:
each conversation has one, which all of its keys bear, and so has each sender.

    bright:store                     what the database is (hash)
    bright:copy                      how far another store is copied into it
    bright:probe  :readiness         what was written last to prove writing
    bright:confirmed                 raised by each durable exchange (hash)
    bright:{b}:bindings  :tokens     who may connect
    bright:{b}:lease:NAME            leases
    bright:{7}:claim:KEY             a commit key, in its sender's shard (hash)
    bright:{7}:claims                those not yet settled, by time (sorted set)
    bright:{7}:k:KEY                 a commit, in its conversation's shard (hash)
    bright:{7}:due                   commits under way, by time (sorted set)
    bright:{7}:expiry                what history may let go of, by time (sorted set)
    bright:{7}:log  :log:last        the shard's log (stream), and its last number
    bright:{7}:log:keys              where an envelope stands in it (hash)
    bright:{7}:all                   the shard's conversations (sorted set)
    bright:{7}:PART:REF              parts of a conversation, see `ConversationKeys`
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

from bright_server.commit.records import CommitKey
from bright_server.messages import ConversationKey

OURS: Final = "bright:*"
"""What every name matches."""
STORE: Final = "bright:store"
COPY: Final = "bright:copy"
PROBE: Final = "bright:probe"
READINESS: Final = "bright:readiness"
CONFIRMED: Final = "bright:confirmed"
BINDINGS: Final = "bright:{b}:bindings"
TOKENS: Final = "bright:{b}:tokens"

_NAME_BYTES: Final = 16


def lease(name: str) -> str:
    """Return the key of a lease."""
    return f"bright:{{b}}:lease:{name}"


@dataclass(frozen=True, slots=True)
class ShardKeys:
    """What a shard has one of."""

    number: int

    @property
    def prefix(self) -> str:
        """Return what the names of all of its keys begin with."""
        return f"bright:{{{self.number}}}"

    @property
    def partition(self) -> str:
        """Return what its log is called in a `LogPosition`."""
        return str(self.number)

    @property
    def claims(self) -> str:
        """Return the key of the claims that are not settled yet."""
        return f"{self.prefix}:claims"

    @property
    def due(self) -> str:
        """Return the key of the commits under way."""
        return f"{self.prefix}:due"

    @property
    def expiry(self) -> str:
        """Return the key of what history may let go of."""
        return f"{self.prefix}:expiry"

    @property
    def log(self) -> str:
        """Return the key of the log."""
        return f"{self.prefix}:log"

    @property
    def log_last(self) -> str:
        """Return the key of the log's last number."""
        return f"{self.prefix}:log:last"

    @property
    def log_keys(self) -> str:
        """Return the key of the places of envelopes."""
        return f"{self.prefix}:log:keys"

    @property
    def conversations(self) -> str:
        """Return the key of the names of all of its conversations."""
        return f"{self.prefix}:all"

    def commit(self, member: str) -> str:
        """Return the key of a commit, from its name in `due`."""
        return f"{self.prefix}:k:{member}"

    def claim(self, member: str) -> str:
        """Return the key of a claim, from its name in `claims`."""
        return f"{self.prefix}:claim:{member}"


@dataclass(frozen=True, slots=True)
class ConversationKeys:
    """The parts of one conversation; all bear its shard's tag."""

    shard: ShardKeys
    ref: str

    def _part(self, name: str) -> str:
        return f"{self.shard.prefix}:{name}:{self.ref}"

    @property
    def facts(self) -> str:
        """Return the key of its name, last sequence, progress and anchor (hash)."""
        return self._part("c")

    @property
    def ids(self) -> str:
        """Return the key of the sequences of observed messages, by id (hash)."""
        return self._part("i")

    @property
    def history(self) -> str:
        """Return the key of the messages by their sequence (sorted set)."""
        return self._part("h")

    @property
    def open(self) -> str:
        """Return the key of the places that are not committed yet (sorted set)."""
        return self._part("o")

    @property
    def conflicts(self) -> str:
        """Return the key of what taken scopes would have said (hash)."""
        return self._part("x")

    @property
    def profile(self) -> str:
        """Return the key of its contact's newest profile (hash)."""
        return self._part("p")

    @property
    def buyer(self) -> str:
        """Return the key of its buyer's newest facts (hash)."""
        return self._part("b")

    @property
    def cards(self) -> str:
        """Return the key of its rendered cards (hash)."""
        return self._part("r")

    @property
    def card_conflicts(self) -> str:
        """Return the key of other contents of cards (hash)."""
        return self._part("y")


@dataclass(frozen=True, slots=True)
class Layout:
    """Spreads names over a database's shards; their number never changes."""

    shards: int

    def every_shard(self) -> list[ShardKeys]:
        """Return all shards, in order."""
        return [ShardKeys(number) for number in range(self.shards)]

    def conversation(self, key: ConversationKey) -> ConversationKeys:
        """Return the keys of a conversation."""
        digest = _digest(key.channel_account_id, key.conversation_id)
        return ConversationKeys(self._shard(digest), _named(digest))

    def claim(self, key: CommitKey) -> tuple[ShardKeys, str]:
        """Return where a commit key is claimed: its sender's shard, and its name."""
        shard = self._shard(_digest(key.tenant, key.sender))
        parts = (key.origin, key.tenant, key.sender, key.client_message_id)
        return shard, _named(_digest(*parts))

    def commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> tuple[ConversationKeys, str]:
        """Return where a key's commit lies in a conversation, and its name there."""
        keys = self.conversation(conversation)
        parts = (key.origin, key.tenant, key.sender, key.client_message_id, keys.ref)
        return keys, _named(_digest(*parts))

    def log_of(self, text: str) -> ShardKeys:
        """Return the shard of an envelope that tells of no conversation."""
        return self._shard(_digest(text))

    def _shard(self, digest: bytes) -> ShardKeys:
        return ShardKeys(int.from_bytes(digest[:8], "big") % self.shards)


def _digest(*parts: str) -> bytes:
    hashed = hashlib.blake2b(digest_size=_NAME_BYTES)
    for part in parts:
        coded = part.encode()
        # Framed, so that no two lists of parts are one text.
        hashed.update(len(coded).to_bytes(4, "big") + coded)
    return hashed.digest()


def _named(digest: bytes) -> str:
    return urlsafe_b64encode(digest).decode().rstrip("=")
