"""What can go wrong in the simulated page.

PageError
├── CorpusError          the corpus that was asked for cannot be made
├── UnknownConversationError  a control names a conversation that the page does not have
├── UnknownSwitchError        a control names a switch, or a value, that does not exist
├── PageNotReadyError         the awaited number of open pages did not come in time
└── PageNotRunningError       the page's server was not started, or did not start
"""

from __future__ import annotations


class PageError(Exception):
    """Base of everything that the simulated page raises by itself."""


class CorpusError(PageError):
    """The corpus that was asked for cannot be made; the text says why."""


class UnknownConversationError(PageError):
    """No conversation of the page has this id."""

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        super().__init__(
            f"the page has no conversation {conversation_id!r}; "
            "corpus.conversations lists those it has"
        )


class UnknownSwitchError(PageError):
    """A switch, or the value given for it, does not exist."""


class PageNotReadyError(PageError):
    """Fewer pages than awaited were open and ready within the time."""

    def __init__(self, wanted: int, ready: int, seconds: float) -> None:
        self.wanted = wanted
        self.ready = ready
        super().__init__(
            f"waited {seconds:g} s for {wanted} open page(s), {ready} were ready; "
            "does the browser have the host rules and the certificate's hash?"
        )


class PageNotRunningError(PageError):
    """The page's server is not up; the text says what was tried."""
