"""A row of the corpus while it is still being written, before it has its id."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from extension_harness.page.bodies import Body
from extension_harness.page.truth import Fault, Message, Quote


@dataclass(slots=True)
class Draft:
    """The fields of a `Message` that recipes may still change."""

    conversation_id: str
    position_ms: int
    sender_id: str
    outbound: bool
    kind: str = "text"
    page_type: int = 1
    text: str | None = ""
    body: str | None = None
    quote: Quote | None = None
    recalled: bool = False
    edited_text: str | None = None
    fault: Fault | None = None
    fault_variant: int = 0
    time_spelling: str = "ms"
    id_field: str = "messageId"
    content_spelling: str = "string"
    lacks_receiver: bool = False
    auto_reply: bool = False
    show_time_offset_ms: int = 0
    live: bool = False
    codes: set[str] = field(default_factory=set)

    def write_text(self, text: str) -> None:
        """Make this a text message that says `text`."""
        self.kind, self.page_type, self.text, self.body = "text", 1, text, None

    def write_body(self, body: Body) -> None:
        """Make this a message of another kind."""
        self.kind, self.page_type = body.kind, body.page_type
        self.text, self.body = None, body.json_text

    def freeze(self, number: int) -> Message:
        """Return the finished row under the id `number`."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["codes"] = frozenset(self.codes)
        return Message(number=number, **values)
