"""The composition of the service worker (background/start.js).

Makes the parts and joins their events. Everything waits for one `ready`; nothing here
remembers what matters, the disk does (OT-70).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from extension_harness.model import events
from extension_harness.model.claims import ClaimEvents, Claims
from extension_harness.model.commands import CommandParts, Commands
from extension_harness.model.configuration import (
    CONFIGURED,
    Stored,
    read_configuration,
    write_local,
)
from extension_harness.model.connection import Connection, ConnectionEvents
from extension_harness.model.coverage import Coverage
from extension_harness.model.effects import Reply
from extension_harness.model.errors import Fault, ModelMisuseError, describe
from extension_harness.model.faults import Faults
from extension_harness.model.frame_router import FrameRouter, RouterParts
from extension_harness.model.health import Health
from extension_harness.model.ledger_uplink import LedgerUplink
from extension_harness.model.ledgers import every_ledger
from extension_harness.model.page_messages import PageMessages
from extension_harness.model.pages import Page, Pages
from extension_harness.model.presence import Presence, set_alarm
from extension_harness.model.recorder import Recorder
from extension_harness.model.sending import Sending
from extension_harness.model.settings import Settings
from extension_harness.model.settling import Settling, SettlingParts
from extension_harness.model.steps import Behaviour, Join, Json, Local, OpenStore
from extension_harness.model.sync import Sync, SyncParts
from extension_harness.model.tasks import Life
from extension_harness.model.uplink import Uplink
from extension_harness.model.walks import needs_walk


class Background:
    """The parts of one worker, made at its start."""

    def __init__(self, life: Life, boot_id: str, new_id: Callable[[], str]) -> None:
        self._life = life
        self._new_id = new_id
        self.boot_id = boot_id
        self._started_at_ms = life.now()
        self._stored: Stored | None = None
        self.faults = Faults(life.now)
        life.opened = self._store_opened
        life.not_opened = self._store_not_opened
        life.disk.begin_life(self._store_closed)
        discoveries: dict[str, str] = {}
        self.connection = Connection(
            life, boot_id, lambda: self.stored, self._connection_events()
        )
        self.recorder = Recorder(life, self._recorded)
        self.uplink = Uplink(
            life, self.connection, self._settings, self._applied, self._failed
        )
        self.ledgers = LedgerUplink(
            life,
            self.connection,
            every_ledger(life),
            self._settings,
            idle=lambda: self._guard("settle", self.presence.settle()),
            failed=self._failed,
        )
        self.claims = Claims(
            life, self.connection, self._settings, self._claim_events()
        )
        self.health = Health(
            self.connection,
            self._recovered,
            changed=lambda: self._guard("settle", self.presence.settle()),
        )
        self.pages = Pages(life, self.health, self._registered)
        self.coverage = Coverage()
        self.sync = Sync(self._sync_parts(discoveries))
        self.page_messages = PageMessages(
            self.coverage,
            self.pages,
            self.health,
            self.recorder,
            self.sync,
            self._told,
            self._failed,
        )
        self.presence = Presence(
            life,
            self.connection,
            self.pages,
            self.sync,
            self.ledgers,
            self._settings,
            self._guard,
        )
        self.settling = Settling(self._settling_parts(discoveries))
        self.commands = Commands(self._command_parts())
        self.router = FrameRouter(self._router_parts(discoveries))
        self._ready = life.spawn("ready", self._begin())

    @property
    def stored(self) -> Stored:
        """The configuration; there is one once the worker is ready."""
        if self._stored is None:
            msg = "The worker is not ready: it has read no configuration yet."
            raise ModelMisuseError(msg)
        return self._stored

    def happens(self, event: events.Event) -> None:
        """Something reaches the worker."""
        match event:
            case events.Started() | events.Alarm():
                self._guard("alarm", self._alarm())
            case events.LocalChanged(keys):
                if any(key in CONFIGURED for key in keys):
                    self._guard("configured", self._configured())
            case events.PageHello():
                self._answer(event.reply, lambda: self.page_messages.hello(event))
            case events.PageObserved():
                self._answer(event.reply, lambda: self.page_messages.observed(event))
            case events.PageTold():
                self._answer(
                    event.reply,
                    lambda: self.page_messages.told(event, self._life.now()),
                )
            case events.PageGone():
                self._answer(event.reply, lambda: self._gone(event))
            case events.PageTroubles():
                self._answer(event.reply, lambda: self._troubles(event))
            case events.RebuildAsked(reply, account, conversation):
                self._answer(reply, lambda: self._rebuild(account, conversation))
            case events.ReconnectAsked():
                self._answer(event.reply, self._reconnect)
            case _:
                self._socket_happens(event)

    def _socket_happens(self, event: events.Event) -> None:
        match event:
            case events.SocketOpened(socket):
                self.connection.opened(socket)
            case events.FrameReceived(socket, frame):
                self.connection.received(socket, frame)
            case events.SocketClosing(socket):
                self.connection.closing(socket)
            case events.SocketClosed(socket, code, reason):
                self.connection.closed(socket, code, reason)

    def _begin(self) -> Behaviour[None]:
        self._stored = yield from read_configuration(self._new_id)
        self.connection.reconfigure(self.stored.stop)
        session = {"bootId": self.boot_id, "startedAtMs": self._started_at_ms}
        yield Local("storage.session.set", lambda disk: disk.session.update(session))
        yield from set_alarm(self._life)  # taken back when there is no work
        self._guard("look around", self._look_around())

    def _when_ready(self) -> Behaviour[None]:
        if not self._ready.is_over:
            yield Join((self._ready,))
        if self._ready.error is not None:
            raise self._ready.error

    def _look_around(self) -> Behaviour[None]:
        """Finds the pages that are open, and whether there is work."""
        yield OpenStore()
        yield from self.pages.look(self._settings().pageTimeoutMs)
        yield from self.presence.settle()

    def _alarm(self) -> Behaviour[None]:
        """Whatever died with a timer or another worker goes on here."""
        yield from self._when_ready()
        yield from self._look_around()
        self.connection.poke()
        yield from self.settling.settle()
        self.uplink.wake()
        yield from self.claims.consider_all(self.connection.accounts)
        for page in self.pages.all:
            self.sync.wake(page.account)

    def _configured(self) -> Behaviour[None]:
        yield from self._when_ready()
        before = self.stored
        self._stored = yield from read_configuration(self._new_id)
        now = self.stored
        is_same_server = now.serverUrl == before.serverUrl
        if is_same_server and now.bindingToken == before.bindingToken:
            return
        self.faults.reconfigured()
        yield from self._remember({"stop": None})
        self.connection.reconfigure(None)
        yield from self.presence.settle()

    def _reconnect(self) -> Behaviour[Json]:
        yield from self._remember({"stop": None})
        self.connection.reconfigure(None)
        yield from self.presence.settle()
        return {}

    def _gone(self, told: events.PageGone) -> Behaviour[Json]:
        yield from ()  # it waits for nothing
        self.pages.gone(told.tab_id, told.page_id)
        return {}

    def _troubles(self, told: events.PageTroubles) -> Behaviour[Json]:
        yield from ()  # it waits for nothing
        return self.page_messages.troubles(told)

    def _recovered(self, account: str, was_blind: bool) -> None:  # noqa: FBT001
        for page in self.pages.all:
            if page.account == account:
                if was_blind:
                    self.coverage.forget(page.page_id)
                self.sync.relist(page)

    def _rebuild(self, account: str, conversation: str) -> Behaviour[Json]:
        if self.pages.of(account) is None:
            return {"error": {"code": "page_missing", "message": "No page is open."}}
        try:
            rebuilt = yield from self.sync.rebuild(account, conversation)
        except Exception as error:  # noqa: BLE001 - as the extension does
            self._failed(error)
            fault = describe(error)
            return {"error": {"code": fault.code, "message": fault.message}}
        return {"rebuilt": rebuilt}

    def _told(self, ledger: str, account: str, conversation: str | None = None) -> None:
        """A page told something that one of the ledgers beside the messages keeps."""
        self.presence.busy()
        self.ledgers.observed(ledger, account, conversation)

    def _answer(self, reply: int, behaviour: Callable[[], Behaviour[Json]]) -> None:
        def answered() -> Behaviour[None]:
            try:
                yield from self._when_ready()
                answer = yield from behaviour()
            except Exception as error:  # noqa: BLE001 - the sender is told, whatever it is
                answer = {"error": str(error)}
            self._life.do(Reply(reply, answer))

        self._life.spawn(f"message {reply}", answered())

    def _remember(self, values: Json) -> Behaviour[None]:
        for name, value in values.items():
            setattr(self.stored, name, value)
        yield from write_local(values)

    def _settings(self) -> Settings:
        return self.stored.settings

    def _failed(self, error: Exception) -> None:
        self.faults.add(describe(error))

    def _guard(self, name: str, behaviour: Behaviour[Any]) -> None:
        """Work whose failure has nobody else to be told to."""
        self._life.spawn(name, behaviour, failed=self._failed)

    def _connection_events(self) -> ConnectionEvents:
        return ConnectionEvents(
            online=lambda: self._guard("settle welcome", self.settling.settle()),
            frame=lambda frame: self._guard(
                f"frame {frame['type']}", self.router.take(frame)
            ),
            offline=self._offline,
            stopped=lambda stop: self._guard(
                "remember stop", self._remember({"stop": stop})
            ),
        )

    def _offline(self) -> None:
        self.uplink.halt()
        self.ledgers.halt()
        self.claims.halt()

    def _recorded(self, recorded: Json) -> None:
        if recorded["isFirst"]:
            met = recorded["checkpoint"]
            self.ledgers.met(met["channelAccountId"], [met["conversationId"]])
        if recorded["added"] > 0:
            self.presence.busy()
            self.uplink.wake()

    def _applied(self, applied: Json) -> None:
        checkpoint = applied["checkpoint"]
        if applied["pending"] > 0 or not checkpoint:
            return
        if checkpoint["historyComplete"]:
            scope = checkpoint["channelAccountId"], checkpoint["conversationId"]
            self._guard("consider", self.claims.consider(*scope))

    def _claim_events(self) -> ClaimEvents:
        return ClaimEvents(
            reoffered=self._reoffered,
            behind=lambda account: self.sync.wake(account),  # noqa: PLW0108 - made later
            completed=self._completed,
            failed=self._failed,
        )

    def _reoffered(self, account: str, conversation: str) -> None:
        self.uplink.wake()
        for ledger in ("profiles", "cards", "facts"):
            self.ledgers.observed(ledger, account, conversation)

    def _completed(self, checkpoint: Json) -> None:
        if needs_walk(checkpoint):
            self.sync.wake(checkpoint["channelAccountId"])
        self._guard("settle", self.presence.settle())

    def _registered(self, page: Page) -> None:
        self.settling.register_page(page)
        self.sync.relist(page)
        self.ledgers.retry(page.account)
        self._guard("settle", self.presence.settle())

    def _sync_parts(self, discoveries: dict[str, str]) -> SyncParts:
        def listed(account: str, conversations: Sequence[Json]) -> None:
            self.claims.discover(account, conversations, discoveries)

        return SyncParts(
            life=self._life,
            connection=self.connection,
            coverage=self.coverage,
            health=self.health,
            pages=self.pages,
            recorder=self.recorder,
            settings=self._settings,
            listed=listed,
            met=self.ledgers.met,
            profiled=lambda account: self._told("profiles", account),
            history_ended=self.claims.consider,
            failed=self._failed,
        )

    def _settling_parts(self, discoveries: dict[str, str]) -> SettlingParts:
        return SettlingParts(
            connection=self.connection,
            faults=self.faults,
            claims=self.claims,
            health=self.health,
            pages=self.pages,
            uplink=self.uplink,
            ledgers=self.ledgers,
            sync=self.sync,
            discoveries=discoveries,
            stored=lambda: self.stored,
            remember=self._remember,
        )

    def _router_parts(self, discoveries: dict[str, str]) -> RouterParts:
        return RouterParts(
            connection=self.connection,
            faults=self.faults,
            claims=self.claims,
            pages=self.pages,
            uplink=self.uplink,
            ledgers=self.ledgers,
            presence=self.presence,
            commands=self.commands,
            discoveries=discoveries,
        )

    def _command_parts(self) -> CommandParts:
        def failed(fault: Fault) -> None:
            self.faults.add(fault)

        return CommandParts(
            life=self._life,
            connection=self.connection,
            pages=self.pages,
            sync=self.sync,
            sending=Sending(self._life, self.pages, self._settings, self.sync.wake),
            settings=self._settings,
            profiled=lambda account: self._told("profiles", account),
            failed=failed,
        )

    def _store_opened(self) -> None:
        if self.faults.release():
            self.happens(events.Alarm())

    def _store_not_opened(self, error: Exception) -> None:
        self.faults.hold(describe(error))

    def _store_closed(self, why: str) -> None:
        """What was closed may have been cleared: only the pages know what was in it."""
        if why != "newer":
            for page in self.pages.all:
                self.sync.relist(page)
        if why == "terminated":
            words = "The browser closed the message store; it is opened when needed."
            self.faults.add(Fault("store_terminated", words))
