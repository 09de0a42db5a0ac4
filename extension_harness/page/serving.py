"""From the page's state to what each surface answers: state, paging and dialect joined.

No I/O: every function returns JSON-ready values. Who asks over HTTP, over the socket or
through the page's SDK is the endpoints' business.
"""

from __future__ import annotations

from collections.abc import Callable

from extension_harness.page.dialects import conversation_rows, events
from extension_harness.page.dialects.http_rows import legacy_row, recent_row
from extension_harness.page.dialects.sdk_objects import sdk_message
from extension_harness.page.dialects.spelling import JsonObject, Place
from extension_harness.page.history import HistoryPage
from extension_harness.page.state import PageState
from extension_harness.page.truth import Conversation, Fault, Message

Dialect = Callable[[Message, Place], object]
_LIST_KEYS = ("list", "messageList", "dataList", "userMessageModels")
LIST_PAGE = 100


class Serving:
    """What each surface of one page answers."""

    def __init__(self, state: PageState) -> None:
        self.state = state

    def place(self, chat: Conversation, *, foreign: bool = False) -> Place:
        """Return what a dialect has to know to spell a row of this conversation."""
        switches = self.state.switches.current
        read = "M24" in self.state.corpus.messy and self.state.serve_count() % 2 == 0
        return Place(
            account=self.state.corpus.account,
            named=chat,
            messy=self.state.corpus.messy,
            generation=switches.encrypted_generation,
            read=read,
            foreign=foreign,
        )

    def spelled(self, row: Message, chat: Conversation, dialect: Dialect) -> object:
        """Return a row in a dialect; a foreign one is another conversation's [M36]."""
        if row.fault is Fault.FOREIGN:
            other = self.state.any_row(
                chat.conversation_id, row.number, row.fault_variant
            )
            if other is not None:
                home = self.state.conversation(other.conversation_id)
                return dialect(other, self.place(home, foreign=True))
        return dialect(row, self.place(chat))

    def _rows(
        self, page: HistoryPage, chat: Conversation, dialect: Dialect
    ) -> list[object]:
        return [self.spelled(row, chat, dialect) for row in page.rows]

    def recent(
        self, chat: Conversation, cursor_ms: int | None, count: int
    ) -> JsonObject:
        """Return the answer of `listRecentMessage.htm`: newest first, with a cursor."""
        page = self.state.history("http_recent", chat, cursor_ms, count)
        messy = "M08" in self.state.corpus.messy
        next_ms: object = page.next_ms
        if messy and chat.number % 2 and next_ms is not None:
            next_ms = str(next_ms)
        key = _LIST_KEYS[chat.number % 3] if messy else "messageList"
        return {
            "code": 200 if messy and chat.number % 2 else "200",
            "data": {
                key: self._rows(page, chat, recent_row),
                "nextPointTimeStamp": next_ms,
                "hasMore": page.has_more,
            },
            "message": None,
        }

    def legacy(
        self, chat: Conversation, cursor_ms: int | None, count: int
    ) -> JsonObject:
        """Return the answer of `getChatMessageList.htm`: oldest first [M07]."""
        page = self.state.history("http_legacy", chat, cursor_ms, count)
        rows = self._rows(page, chat, legacy_row)
        messy = self.state.corpus.messy
        return {
            "code": "200" if "M08" in messy and chat.number % 2 else 200,
            "success": True,
            "data": {
                "list": rows[::-1] if "M07" in messy else rows,
                "hasMore": page.has_more,
            },
        }

    def sdk(self, chat: Conversation, cursor_ms: int | None, count: int) -> JsonObject:
        """Return what the SDK's history hands to its call-back: unsorted [M07]."""
        page = self.state.history("sdk", chat, cursor_ms, count)
        rows = self._rows(page, chat, sdk_message)
        if "M07" in self.state.corpus.messy:
            rows = rows[::2] + rows[1::2]
        return {"data": rows, "hasMore": page.has_more}

    def lwp(self, chat: Conversation, cursor_ms: int | None, count: int) -> JsonObject:
        """Return the body of the socket's `listUserMessages`."""
        page = self.state.history("lwp", chat, cursor_ms, count)
        models = [
            self.spelled(row, chat, events.lwp_model)
            for row in page.rows
            if row.fault is not Fault.NOT_AN_OBJECT
        ]
        cursor: object = page.next_ms if chat.number % 2 else str(page.next_ms or 0)
        return {
            "userMessageModels": models,
            "nextCursor": cursor,
            "hasMore": page.has_more,
            "degradeFailover": False,
        }

    def event(self, row: Message, name: str | None = None) -> JsonObject:
        """Return the event that announces `row` on the page's bus."""
        chat = self.state.conversation(row.conversation_id)
        shown = self.spelled(row, chat, events.payload)
        return {"name": name or events.event_name(row), "payload": shown}

    def list_page(self, cursor_ms: int | None, count: int) -> JsonObject:
        """Return a page of the SDK's conversation list, newest first.

        With M35 a page after the first repeats the last row of the one before: the list
        has moved while it was paged.
        """
        chats = self.state.conversations()
        at_ms = self.state.latest_at_ms
        if cursor_ms is not None:
            overlap = "M35" in self.state.corpus.messy
            chats = [
                chat
                for chat in chats
                if at_ms(chat) < cursor_ms or (overlap and at_ms(chat) == cursor_ms)
            ]
        count = max(2, min(LIST_PAGE, count))
        while count < len(chats) and at_ms(chats[count]) == at_ms(chats[count - 1]):
            count += 1  # the cursor is a time: those of one time stay together
        page = chats[:count]
        return {
            "list": [self.full_row(chat) for chat in page],
            "hasMore": len(chats) > len(page),
            "nextCursor": at_ms(page[-1]) if page else cursor_ms,
        }

    def full_row(self, chat: Conversation) -> JsonObject:
        """Return a conversation as the full list and the SDK have it."""
        latest = self.state.latest(chat)
        return conversation_rows.full_row(chat, latest, self.place(chat))

    def full_list(self) -> list[JsonObject]:
        """Return `__conversationListFullData__`."""
        return [self.full_row(chat) for chat in self.state.conversations()]

    def vm_cache(self) -> list[JsonObject]:
        """Return `__VMFsConv__cache__`: a few conversations, one of them unusable."""
        if not self.state.switches.current.vm_cache:
            return []
        chats = self.state.conversations()
        few = chats[:4] + [chat for chat in chats[4:] if not chat.complete_ids][:1]
        return [
            conversation_rows.vm_cache_row(
                chat, self.state.latest(chat), self.place(chat)
            )
            for chat in few
        ]

    def unread(self) -> JsonObject:
        """Return the data of `unread.htm`: only conversations with unread messages."""
        chats = [chat for chat in self.state.conversations() if chat.unread]
        logged_in = self.state.switches.current.login != "has_login_false"
        rows = [
            conversation_rows.unread_row(
                chat, self.state.latest(chat), self.place(chat)
            )
            for chat in chats
        ]
        return {
            "hasLogin": logged_in,
            "unreadCount": sum(chat.unread for chat in chats) if logged_in else 0,
            "list": rows if logged_in else [],
        }
