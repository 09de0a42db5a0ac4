"""The work that is measured: which message goes into which batch of which connection.

A pure plan: the same numbers give the same bytes in every process, so the load
generator, the bare SQLite yardstick and the check of the answers agree without talking.
It is shaped like a backlog of the seller chat: ids of 13 digits that increase with
time, a batch for one conversation, one message in ten sent again.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.errors import WorkloadError

ACCOUNT = "2500000000001"
FIRST_ID = 1_750_000_000_000
RESENT_ONE_IN = 10
_BUYER = 3_500_000_000_000
_TEXTS = (
    "Hello, what is your best price?",
    "Could you send me the catalogue please",
    "We need 500 pcs before March, is it possible?",
    "ok",
    "Thank you, I will check with my boss",
    "样品已经寄出 请查收",
    "Can you do DDP to Hamburg?",
    "The carton size is 60x40x40 cm, 18 kg each",
    "Please confirm the logo position 👍",
    "sure, one moment",
)


@dataclass(frozen=True)
class Message:
    """One planned message; the fields are those of the wire's `Message`."""

    message_id: str
    conversation_id: str
    sender_id: str
    direction: str
    sent_at_ms: int
    text: str

    @property
    def candidate_key(self) -> str:
        """The extension's own key for it: scope and time as a JSON array."""
        key = (ACCOUNT, self.conversation_id, f"{self.sent_at_ms:015}", self.message_id)
        return json.dumps(key, separators=(",", ":"))

    def to_wire(self) -> dict[str, object]:
        """The message as a JSON object of the wire protocol."""
        return {
            "candidateKey": self.candidate_key,
            "messageId": self.message_id,
            "conversationId": self.conversation_id,
            "senderId": self.sender_id,
            "direction": self.direction,
            "sentAtMs": self.sent_at_ms,
            "kind": "text",
            "text": self.text,
        }


@dataclass(frozen=True)
class Batch:
    """One `observation.batch`: the re-sent messages first, as a backlog drains."""

    connection: int
    number: int
    conversation_id: str
    messages: tuple[Message, ...]

    def to_frame(self) -> bytes:
        """The UTF-8 JSON of the frame; the batch's number is its request id."""
        frame = {
            "type": "observation.batch",
            "requestId": str(self.number),
            "channelAccountId": ACCOUNT,
            "conversationId": self.conversation_id,
            "mode": "full",
            "receivedAtMs": FIRST_ID + 86_400_000,
            "messages": [message.to_wire() for message in self.messages],
        }
        return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Workload:
    """The shape of one round.

    `first_batch` is where every connection goes on: a round with `first_batch` n may
    run on a database that holds the batches before n, and counts no message twice.

    Raises:
        WorkloadError: if a size is not positive, the conversations cannot be dealt out
            evenly to the connections, or a batch cannot hold one re-sent in ten.
    """

    connections: int = 20
    batches: int = 50
    batch_messages: int = 100
    conversations: int = 200
    first_batch: int = 0

    def __post_init__(self) -> None:
        sizes = (self.connections, self.batches, self.batch_messages)
        if min(sizes) < 1 or self.first_batch < 0:
            raise WorkloadError("connections, batches and messages must be at least 1")
        if self.conversations < 1 or self.conversations % self.connections:
            raise WorkloadError(
                f"{self.conversations} conversations cannot be dealt out evenly to"
                f" {self.connections} connections: use a multiple"
            )
        if self.batch_messages % RESENT_ONE_IN:
            raise WorkloadError(
                f"{self.batch_messages} messages a batch: use a multiple of"
                f" {RESENT_ONE_IN}, because one in {RESENT_ONE_IN} is sent again"
            )

    @property
    def resent_of_batch(self) -> int:
        """How many messages of each batch were sent before."""
        return self.batch_messages // RESENT_ONE_IN

    @property
    def new_of_batch(self) -> int:
        """How many messages of each batch are sent for the first time."""
        return self.batch_messages - self.resent_of_batch

    @property
    def sent(self) -> int:
        """Messages of the round, re-sent ones included."""
        return self.connections * self.batches * self.batch_messages

    @property
    def new(self) -> int:
        """Messages that the round adds to the store."""
        return self.connections * self.batches * self.new_of_batch

    def of_connection(self, connection: int) -> Iterator[Batch]:
        """The batches of one connection, in the order in which it sends them."""
        for number in range(self.first_batch, self.first_batch + self.batches):
            yield self.batch(connection, number)

    def batch(self, connection: int, number: int) -> Batch:
        """Batch `number` (counted over all rounds) of a connection."""
        own = self.conversations // self.connections
        conversation = connection * own + number % own
        start = number // own * self.new_of_batch
        new = range(start, start + self.new_of_batch)
        # The first batch of a conversation has none before it: it repeats its own.
        before = new if start == 0 else range(start - self.new_of_batch, start)
        resent = before[:: RESENT_ONE_IN - 1][: self.resent_of_batch]
        messages = tuple(
            self._message(conversation, nth) for group in (resent, new) for nth in group
        )
        return Batch(connection, number, messages[0].conversation_id, messages)

    def nth_of(self, message: Message) -> int:
        """Which message of its conversation this is, counted from 0."""
        return (message.sent_at_ms - FIRST_ID) // self.conversations

    def _message(self, conversation: int, nth: int) -> Message:
        buyer = str(_BUYER + conversation)
        inbound = (nth * 7 + conversation) % 5 < 3
        sent_at_ms = FIRST_ID + nth * self.conversations + conversation
        return Message(
            message_id=str(sent_at_ms),
            conversation_id=f"{ACCOUNT}-{buyer}#11011@icbu",
            sender_id=buyer if inbound else ACCOUNT,
            direction="inbound" if inbound else "outbound",
            sent_at_ms=sent_at_ms,
            text=_TEXTS[(nth * 3 + conversation) % len(_TEXTS)],
        )
