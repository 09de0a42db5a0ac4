"""What is due once on each connection, when Bright has welcomed us (OT-51, OT-63)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from extension_harness.model.claims import Claims
from extension_harness.model.configuration import Stored
from extension_harness.model.connection import Connection
from extension_harness.model.faults import Faults
from extension_harness.model.health import Health
from extension_harness.model.ledger_uplink import LedgerUplink
from extension_harness.model.pages import Page, Pages
from extension_harness.model.steps import Behaviour, Json
from extension_harness.model.store import reoffer, reoffer_ledgers
from extension_harness.model.sync import Sync
from extension_harness.model.uplink import Uplink


@dataclass(frozen=True)
class SettlingParts:
    """What is settled between; `discoveries`: account by request id of a discovery."""

    connection: Connection
    faults: Faults
    claims: Claims
    health: Health
    pages: Pages
    uplink: Uplink
    ledgers: LedgerUplink
    sync: Sync
    discoveries: dict[str, str]
    stored: Callable[[], Stored]
    remember: Callable[[Json], Behaviour[None]]


class Settling:
    """Settle what Bright knows of the past, then send."""

    def __init__(self, parts: SettlingParts) -> None:
        self._parts = parts
        self._settled: Json | None = None

    def settle(self) -> Behaviour[None]:
        """Settles the present welcome, once; when the store failed, again later."""
        welcome = self._parts.connection.welcome
        if welcome is None or welcome is self._settled:
            return
        self._settled = welcome
        try:
            yield from self._online(welcome)
        except Exception:
            if self._settled is welcome:
                self._settled = None
            raise

    def register_page(self, page: Page) -> None:
        """Makes a page known to Bright (OT-63), of an account that it holds (OT-60)."""
        connection = self._parts.connection
        if connection.welcome is None:
            return
        if page.account not in connection.accounts:
            refusal = {
                "code": "out_of_scope",
                "message": "The binding does not hold the page's account.",
                "channelAccountId": page.account,
            }
            self._parts.faults.refused(refusal, [])
            return
        connection.send(
            {
                "type": "page.register",
                "requestId": connection.next_request_id(),
                "pageId": page.page_id,
                "channelAccountId": page.account,
                "route": page.route,
            }
        )

    def _online(self, welcome: Json) -> Behaviour[None]:
        parts, accounts = self._parts, welcome["accounts"]
        parts.faults.welcomed(accounts)
        parts.claims.reset()
        parts.discoveries.clear()
        yield from self._offer_to_another_store(welcome)
        if parts.connection.welcome is not welcome:
            return
        for page in parts.pages.all:
            self.register_page(page)
        parts.health.tell_all()
        for account in accounts:
            yield from parts.claims.discover_all(account, parts.discoveries)
        if parts.connection.welcome is not welcome:
            return
        parts.uplink.start()
        yield from parts.claims.consider_all(accounts)
        if parts.connection.welcome is not welcome:
            return
        for account in accounts:
            parts.sync.wake(account)
        parts.ledgers.start()  # after the messages, which wait for none of it (OT-87)

    def _offer_to_another_store(self, welcome: Json) -> Behaviour[None]:
        """Another store may not have what the last one confirmed: it all goes again."""
        store_ids = {**self._parts.stored().storeIds}
        store_id = welcome["storeId"]
        for account in welcome["accounts"]:
            if store_ids.get(account, store_id) != store_id:
                yield from reoffer(account, None)
                yield from reoffer_ledgers(account, None)
            store_ids[account] = store_id
        yield from self._parts.remember(
            {"storeIds": store_ids, "lastStoreId": store_id}
        )
