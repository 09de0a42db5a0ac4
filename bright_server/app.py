"""The composition root: puts the parts together. `backends` chooses the store."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from starlette.applications import Starlette

from bright_server import backends
from bright_server.authorization.contract import Authority
from bright_server.authorization.embedded import EmbeddedAuthority
from bright_server.authorization.remote import asking
from bright_server.clock import Clock, SystemClock
from bright_server.commands import endpoint as commands
from bright_server.commands.commander import ConnectedCommander
from bright_server.commit.admission import (
    AccountMembership,
    EmbeddedContentRule,
    SendAdmission,
    TokenBucketQuota,
)
from bright_server.commit.authorizing_committer import AuthorizingCommitter
from bright_server.commit.backend import Backend
from bright_server.commit.committer import DurableCommitter
from bright_server.commit.contract import MessageCommitter
from bright_server.commit.group_committer import Committer, GroupCommitter
from bright_server.commit.recovery import CommitRecovery
from bright_server.credentials import read_credential
from bright_server.database_address import InMemory
from bright_server.errors import ConfigurationError
from bright_server.http_server import HttpServer
from bright_server.ingest import endpoint
from bright_server.ingest.hub import Hub
from bright_server.operations import echo, health, metrics, pages
from bright_server.operator_guard import OperatorGuard
from bright_server.settings import Settings
from bright_server.wire.pages import count_troubles
from bright_server.writer.link import linked

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bright:
    """The running parts, as whoever serves them needs them."""

    application: Starlette
    hub: Hub
    commits: MessageCommitter
    """What commits one message, step by step."""
    backend: Backend
    """The open database: whoever serves in its own process has no other door to it."""


@dataclass(frozen=True, slots=True)
class Committers:
    """The two ways to a commit: many together, and one step by step."""

    groups: Committer
    single: MessageCommitter


@asynccontextmanager
async def running(settings: Settings, clock: Clock) -> AsyncIterator[Bright]:
    """Hold the store and run the writer and the tick, for as long as the block lasts.

    Raises:
        StoreInUse: another server serves this database, which can have one only.
        SchemaRefused: the database is not for this server.
        StoreUnavailable: it cannot be opened, or not written, or not durably.
        ConfigurationError: a credential, or the authority's certificates, are unusable,
            or the back end's driver is not installed.
    """
    operator = read_credential(
        "BRIGHT_OPERATOR_CREDENTIAL",
        settings.operator_credential,
        settings.operator_credential_file,
    )
    counted = metrics.Metrics()
    with backends.held(settings) as descriptor:
        async with (
            _writable(settings, clock) as backend,
            _authority(backend, settings, clock, counted) as authority,
            _committing(backend, settings, clock, counted, descriptor) as writer,
            _authorizing(writer, authority, settings) as committer,
            _recovering(backend, settings, clock, counted) as commits,
        ):
            bright, tasks = _compose(
                backend,
                Committers(committer, commits),
                authority,
                counted,
                settings,
                clock,
            )
            commander = _commanding(bright.hub, authority, counted, settings, clock)
            guard = OperatorGuard(operator)
            bright.application.routes.extend(
                [
                    commands.route(commander, guard, settings, clock),
                    pages.route(bright.hub.pages, guard),
                ]
            )
            try:
                yield bright
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _writable(settings: Settings, clock: Clock) -> AsyncIterator[Backend]:
    async with backends.opened(settings, clock) as backend:
        await backend.prove_writable()
        yield backend


@asynccontextmanager
async def _authority(
    backend: Backend, settings: Settings, clock: Clock, counted: metrics.Metrics
) -> AsyncIterator[Authority]:
    """Hold who is asked about bindings: this database, or a service (OT-60)."""
    if settings.authority is None:
        yield EmbeddedAuthority(backend.bindings, settings.authority_deadline_seconds)
        return
    async with asking(settings.authority, settings, clock, counted) as remote:
        yield remote


@asynccontextmanager
async def _authorizing(
    committer: Committer, authority: Authority, settings: Settings
) -> AsyncIterator[Committer]:
    """Have a remote authority asked before each group; the store asks its own."""
    if settings.authority is None:
        yield committer
        return
    gate = AuthorizingCommitter(committer, authority, settings)
    async with _kept_running(gate.run(), "authorizing committer"):
        yield gate


@asynccontextmanager
async def _kept_running(
    work: Coroutine[object, object, None], name: str
) -> AsyncIterator[None]:
    running = asyncio.create_task(work, name=name)
    running.add_done_callback(_report_death)
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def _committing(
    backend: Backend,
    settings: Settings,
    clock: Clock,
    counted: metrics.Metrics,
    descriptor: int | None,
) -> AsyncIterator[Committer]:
    """Hold the one writer: in a process of its own, or in this one."""
    if settings.writer_process and not isinstance(settings.database, InMemory):
        store_id = backend.observations.store_id
        async with linked(settings, counted, descriptor, store_id) as link:
            yield link
        return
    committer = GroupCommitter(backend.observations, settings, clock, counted)
    async with _kept_running(committer.run(), "group committer"):
        yield committer


@asynccontextmanager
async def _recovering(
    backend: Backend, settings: Settings, clock: Clock, counted: metrics.Metrics
) -> AsyncIterator[MessageCommitter]:
    """Hold what commits one by one, and go on with what others have left (MS-21)."""
    admission = SendAdmission(
        AccountMembership(backend.bindings),
        EmbeddedContentRule(settings),
        TokenBucketQuota(settings, clock),
        settings,
    )
    commits = DurableCommitter(backend.commits, backend.publisher, admission, settings)
    recovery = CommitRecovery(backend.commits, commits, settings, clock, counted)
    async with _kept_running(recovery.run(), "recovery"):
        yield commits


def _compose(
    backend: Backend,
    committers: Committers,
    authority: Authority,
    counted: metrics.Metrics,
    settings: Settings,
    clock: Clock,
) -> tuple[Bright, list[asyncio.Task[None]]]:
    committer = committers.groups
    hub = Hub(committer, authority, backend.observations.store_id, settings, clock)
    counted.watch(
        "bright_connections", "Open connections of extensions", lambda: hub.size
    )
    counted.watch(
        "bright_pending_bytes",
        "Bytes of requests that wait for their commit",
        lambda: committer.pending_bytes,
    )
    counted.watch(
        "bright_pages", "Pages that extensions told of", lambda: len(hub.pages())
    )
    counted.watch_each(
        "bright_pages_in_trouble",
        "Pages with each trouble that extensions told of",
        "trouble",
        lambda: count_troubles(hub.pages()),
    )
    probe = health.ReadinessProbe(
        {
            "store": health.store_check(committer, backend.observations, clock),
            "commits": health.commits_check(committers.single),
            "authority": health.authority_check(authority),
        },
        settings.readiness_deadline_seconds,
    )
    routes = [
        endpoint.route(hub, settings),
        *health.routes(probe),
        metrics.route(counted),
        *([echo.route()] if settings.conformance_echo else []),
    ]
    application = Starlette(routes=routes)
    tasks = [
        asyncio.create_task(hub.tick_forever(), name="tick"),
    ]
    for task in tasks:
        task.add_done_callback(_report_death)
    return Bright(application, hub, committers.single, backend), tasks


def _commanding(
    hub: Hub,
    authority: Authority,
    counted: metrics.Metrics,
    settings: Settings,
    clock: Clock,
) -> ConnectedCommander:
    commander = ConnectedCommander(hub, authority, settings, clock, counted)
    hub.command_watch = commander
    counted.watch(
        "bright_commands_under_way",
        "Commands that have no outcome yet",
        lambda: commander.size,
    )
    return commander


def _report_death(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.critical("the %s has died", task.get_name(), exc_info=error)


async def serve(settings: Settings, listening: Callable[[str, int], None]) -> None:
    """Serve until SIGTERM or SIGINT, then end in good order (returns normally).

    `listening` is called with the address once connections are really accepted.

    Raises:
        ConfigurationError: the address cannot be listened on.
        MessageStoreError: the database cannot be served; see `running`.
    """
    with _bound(settings.host, settings.port) as bound:
        async with running(settings, SystemClock()) as bright:
            host, port = bound.getsockname()[:2]
            server = HttpServer(
                bright.application,
                settings,
                drain=bright.hub.drain,
                listening=lambda: listening(host, port),
            )
            with suppress(asyncio.CancelledError):
                await server.serve(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port} ({error.strerror or error}): give"
            " another --host or --port"
        ) from error
