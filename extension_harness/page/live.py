"""What happens while the page is open: new messages, recalls, edits, echoes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from extension_harness.page import recipes
from extension_harness.page.channel import Channel
from extension_harness.page.dialects import events
from extension_harness.page.dialects.http_rows import recent_row
from extension_harness.page.dialects.spelling import JsonObject
from extension_harness.page.draft import Draft
from extension_harness.page.errors import CorpusError, PageError
from extension_harness.page.records import LedgerAnomaly, LedgerMessage
from extension_harness.page.serving import Serving
from extension_harness.page.truth import Conversation, Fault, Message


class Live:
    """The live side of one page; every method may be called from any thread."""

    def __init__(self, serving: Serving, channel: Channel) -> None:
        self._serving = serving
        self._state = serving.state
        self._channel = channel
        self.on_announced: Callable[[Message], None] | None = None
        self._rng = random.Random(serving.state.corpus.seed)  # noqa: S311

    def post(
        self,
        conversation_id: str | None,
        text: str | None,
        direction: str,
        messy: str | None,
        *,
        sent_at_ms: int | None = None,
        announce: bool = True,
    ) -> LedgerMessage:
        """Put a new message into the page and announce it to the open pages.

        Its time is the page's now, after everything in its conversation; `sent_at_ms`
        puts it anywhere else, also before what is there.

        Raises:
            CorpusError: `messy` is no code that a message can carry.
            UnknownConversationError: there is no such conversation.
        """
        draft = self._draft(conversation_id, direction)
        draft.position_ms = draft.position_ms if sent_at_ms is None else sent_at_ms
        draft.write_text(text or f"live message {self._state.last_number + 1}")
        if messy is not None:
            self._season(draft, messy)
        row = draft.freeze(self._state.next_number())
        self._state.add(row)
        expected = self._state.ledger.add(row)
        if announce:
            self.announce(row)
        if not isinstance(expected, LedgerMessage):
            raise CorpusError("a live message with a fault is posted by post_invalid")
        return expected

    def post_invalid(self, fault: Fault, conversation_id: str | None) -> LedgerAnomaly:
        """Announce a payload that cannot be a message; it stands in no history.

        Raises:
            CorpusError: the fault is one that only a row of a history can have.
        """
        if fault is Fault.FOREIGN:
            raise CorpusError("an event belongs to the conversation that it names")
        draft = self._draft(conversation_id, "inbound")
        draft.write_text("a payload that cannot be a message")
        draft.fault = fault
        row = draft.freeze(self._state.next_number())
        expected = self._state.ledger.add(row)
        self._announce_event(row, events.NEW)
        if not isinstance(expected, LedgerAnomaly):
            raise CorpusError(f"{fault} is no fault of a message")
        return expected

    def _draft(self, conversation_id: str | None, direction: str) -> Draft:
        chat = self._chat(conversation_id)
        outbound = direction == "outbound"
        sender = chat.seller_id if outbound else chat.buyer_id
        now = self._state.now_ms() + self._state.switches.current.clock_offset_ms
        moment = max(now, self._state.latest_at_ms(chat) + 1)
        return Draft(chat.conversation_id, moment, sender, outbound, live=True)

    def _chat(self, conversation_id: str | None) -> Conversation:
        if conversation_id is not None:
            return self._state.conversation(conversation_id)
        chats = self._state.conversations()
        if not chats:
            raise CorpusError("the page has no conversation to post a message into")
        return chats[0]

    def _season(self, draft: Draft, code: str) -> None:
        found = [recipe for known, recipe in recipes.RECIPES if known == code]
        if not found:
            raise CorpusError(f"{code} is nothing that one live message can carry")
        self._rng.choice(found)(draft, self._rng)
        draft.codes.add(code)
        if draft.time_spelling == "seconds":
            draft.position_ms += -draft.position_ms % 1000

    def announce(self, row: Message) -> None:
        """Tell the open pages: event, list entry, row in the document."""
        chat = self._state.conversation(row.conversation_id)
        place = self._serving.place(chat)
        self._announce_event(
            row,
            None,
            {"listRow": self._serving.full_row(chat), "row": recent_row(row, place)},
        )
        if self.on_announced is not None:
            self.on_announced(row)

    def _announce_event(
        self, row: Message, name: str | None, more: JsonObject | None = None
    ) -> None:
        command: JsonObject = {
            "type": "live",
            "emission": self._channel.emission(row),
            "event": self._serving.event(row, name),
            "conversationId": row.conversation_id,
            **(more or {}),
        }
        if self._channel.open_pages():
            self._state.ledger.offered(row)
        self._channel.broadcast(command)

    def recall(self, message_id: str) -> LedgerMessage:
        """Recall a message: its row keeps the id and loses its content [M22]."""
        old = self._row(message_id)
        new = replace(old, recalled=True, edited_text=None, quote=None)
        self._state.replace_row(old, new)
        self._state.ledger.withdrawn(old)
        expected = self._state.ledger.add(new)
        self._announce_event(new, events.CHANGED, {"row": self._recent(new)})
        if not isinstance(expected, LedgerMessage):
            raise PageError(f"row {message_id} is no valid message")
        return expected

    def vanish(self, message_id: str) -> None:
        """Take a message out of the history, as some recalls do [M22]."""
        old = self._row(message_id)
        self._state.replace_row(old, None)
        self._state.ledger.withdrawn(old)

    def edit(self, message_id: str, text: str) -> None:
        """Give a text message another content under the same id [M23]."""
        old = self._row(message_id)
        new = replace(old, text=text, edited_text=None)
        self._state.replace_row(old, new)
        self._state.ledger.edited(new, certain=False)
        self._announce_event(new, events.CHANGED, {"row": self._recent(new)})

    def rename(self, conversation_id: str, name: str) -> None:
        """Give a contact another name; open pages load their list again [M32]."""
        self._state.rename(conversation_id, name)
        self._channel.broadcast({"type": "list"})

    def repeat(self, message_id: str) -> None:
        """Announce a message again, unchanged [M04]."""
        self.announce(self._row(message_id))

    def announce_edit(self, row: Message) -> None:
        """Say an edited message again after its first version was shown [M23]."""
        self._announce_event(row, events.CHANGED)

    def _recent(self, row: Message) -> object:
        chat = self._state.conversation(row.conversation_id)
        return recent_row(row, self._serving.place(chat))

    def _row(self, message_id: str) -> Message:
        digits = message_id.removesuffix(":recall")
        row = self._state.find(int(digits)) if digits.isdecimal() else None
        if row is None:
            raise PageError(f"the page has no message {message_id!r}")
        return row
