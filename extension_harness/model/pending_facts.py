"""Where buyer facts wait for Bright (background/pending-facts.js).

Their store has no index, so they are found by the keys of the account's checkpoints, a
page at a time, once on each connection; what is observed meanwhile is added, and so is
what gets a checkpoint meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from extension_harness.model.steps import Behaviour, Json
from extension_harness.model.store import CheckpointPages, verb
from extension_harness.model.tasks import Life
from extension_harness.model.turns import Turns
from storage_schema.onetalk import read_buyer_facts
from storage_schema.onetalk.keys import conversation_key

MAX_KNOWN = 1_000
MET_PAGE = 200


class _Search:
    def __init__(self, life: Life, account: str) -> None:
        self.known: dict[str, None] = {}
        self.met: list[str] = []
        self.pages: CheckpointPages | None = CheckpointPages(account)
        self.turns = Turns(life)


class PendingFacts:
    """One search an account."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._searches: dict[str, _Search] = {}

    def reset(self) -> None:
        """Looks at every checkpoint again."""
        self._searches.clear()

    def observed(self, account: str, conversation: str) -> None:
        """A conversation's facts were recorded just now."""
        search = self._of(account)
        search.known[conversation] = None
        if len(search.known) > MAX_KNOWN:
            del self._searches[account]

    def met(self, account: str, conversations: Sequence[str]) -> None:
        """These have a checkpoint only now; a search that begins later finds them."""
        search = self._searches.get(account)
        if search is None:
            return
        search.met += conversations
        if len(search.met) > MAX_KNOWN:
            del self._searches[account]

    def first(self, account: str) -> Behaviour[Json | None]:
        """One that Bright does not have."""
        search = self._of(account)
        return (
            yield from search.turns.take("look", lambda: self._look(account, search))
        )

    def _of(self, account: str) -> _Search:
        if account not in self._searches:
            self._searches[account] = _Search(self._life, account)
        return self._searches[account]

    def _look(self, account: str, search: _Search) -> Behaviour[Json | None]:
        while True:
            while search.known:
                conversation = next(iter(search.known))
                del search.known[conversation]  # it may be observed meanwhile
                key = conversation_key(account, conversation)
                found = yield from verb("readBuyerFacts", read_buyer_facts, [key])
                record: Json | None = found[0]
                if record is not None and _is_pending(record):
                    search.known[conversation] = None
                    return record
            if search.pages is None and not search.met:
                return None
            try:
                yield from self._more(account, search)
            except Exception:
                self.reset()  # the next search begins anew
                raise

    def _more(self, account: str, search: _Search) -> Behaviour[None]:
        met, search.met = search.met[:MET_PAGE], search.met[MET_PAGE:]
        keys = [conversation_key(account, each) for each in met]
        if not keys:
            page = None
            if search.pages is not None:
                page = yield from search.pages.next()
            if page is None:
                search.pages = None
                return
            keys = [each["key"] for each in page]
        found = yield from verb("readBuyerFacts", read_buyer_facts, keys)
        for record in found:
            if record is not None and _is_pending(record):
                search.known[record["conversationId"]] = None


def _is_pending(record: Json) -> bool:
    return bool(record["uploadedFingerprint"] != record["fingerprint"])
