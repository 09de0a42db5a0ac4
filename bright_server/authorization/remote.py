"""The remote authority: an HTTP service that knows the bindings (docs/authority.md).

Fails closed: whatever is not a whole answer to the question just asked is
`AuthorityUnavailable`. No answer is kept: each is used for what was asked before it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Literal, Protocol, TypeAlias

from bright_server.authorization.contract import Standing
from bright_server.authorization.dialogue import (
    AUTHENTICATE,
    STANDINGS,
    BindingNow,
    authenticate_question,
    read_grant,
    read_standings,
    standing_by,
    standings_question,
)
from bright_server.authorization.gathering import Gathering
from bright_server.authorization.service import AuthorityService
from bright_server.authorization.tokens import token_digest
from bright_server.clock import Clock
from bright_server.errors import AuthorityUnavailable, BindingRefused
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings

logger = logging.getLogger(__name__)

Question: TypeAlias = Literal["authenticate", "standings"]


class AuthorityWatch(Protocol):
    """Is told of every question, after its answer."""

    def authority_asked(
        self, question: Question, fault: str | None, seconds: float
    ) -> None:
        """Take note; `fault` is in one word why there was no answer."""
        ...


class RemoteAuthority:
    """An `Authority` that asks a service; made by `asking`.

    The deadline counts from when a question goes out. Newcomers wait their turn within
    it; a question about standings may wait for one that is under way before.
    """

    def __init__(
        self,
        service: AuthorityService,
        settings: Settings,
        clock: Clock,
        watch: AuthorityWatch,
    ) -> None:
        self._service = service
        self._settings = settings
        self._clock = clock
        self._watch = watch
        # Newcomers have a bound of their own: a crowd of them must not hold up the
        # questions about connections that stand.
        self._newcomers = asyncio.Semaphore(settings.max_authority_newcomers)
        self._standings: Gathering[BindingId, BindingNow] = Gathering(
            self._ask_standings, settings.max_authority_questions
        )

    async def authenticate(self, token: str) -> Grant:
        """See `Authority.authenticate`; the service is told the token's digest only."""
        question_id = secrets.token_hex(16)
        question = authenticate_question(question_id, token_digest(token))
        with self._watched("authenticate"):
            async with (
                asyncio.timeout(self._settings.authority_deadline_seconds),
                self._newcomers,
            ):
                answer = await self._service.ask(AUTHENTICATE, question)
                grant = read_grant(answer, question_id)
        if grant is None:
            raise BindingRefused
        return grant

    async def standings(self, grants: Iterable[Grant]) -> Mapping[Grant, Standing]:
        """See `Authority.standings`; asks the service even when there is no grant."""
        asked = frozenset(grants)
        now = await self._standings.ask(grant.binding_id for grant in asked)
        return {grant: standing_by(grant, now[grant.binding_id]) for grant in asked}

    async def close(self) -> None:
        """End what is under way."""
        await self._standings.close()
        await self._service.close()

    async def _ask_standings(
        self, bindings: Collection[BindingId]
    ) -> Mapping[BindingId, BindingNow]:
        most = self._settings.max_authority_bindings
        ordered = sorted(bindings)
        found: dict[BindingId, BindingNow] = {}
        # With nothing to ask about it still is a question: whether anybody answers.
        for start in range(0, max(len(ordered), 1), most):
            some = ordered[start : start + most]
            question_id = secrets.token_hex(16)
            question = standings_question(question_id, some)
            with self._watched("standings"):
                async with asyncio.timeout(self._settings.authority_deadline_seconds):
                    answer = await self._service.ask(STANDINGS, question)
                    found.update(read_standings(answer, question_id, some))
        return found

    @contextmanager
    def _watched(self, question: Question) -> Iterator[None]:
        """Time a question, and turn all that can go wrong into one error."""
        began = self._clock.steady_seconds()
        fault: str | None = None
        try:
            yield
        except TimeoutError as error:
            fault = "timeout"
            deadline = self._settings.authority_deadline_seconds
            raise AuthorityUnavailable(f"no answer in {deadline:g} s", fault) from error
        except AuthorityUnavailable as error:
            fault = error.fault
            raise
        except Exception as error:
            # A fault of this program: who asks is told no, and lives on.
            fault = "internal"
            logger.exception("asking the authority failed")
            raise AuthorityUnavailable("a fault of this server", fault) from error
        finally:
            seconds = self._clock.steady_seconds() - began
            self._watch.authority_asked(question, fault, seconds)


@asynccontextmanager
async def asking(
    address: str, settings: Settings, clock: Clock, watch: AuthorityWatch
) -> AsyncIterator[RemoteAuthority]:
    """Hold an authority at this address; it need not answer yet.

    Raises:
        ConfigurationError: the credential or the certificates cannot be used.
    """
    service = AuthorityService(address, settings)
    authority = RemoteAuthority(service, settings, clock, watch)
    try:
        yield authority
    finally:
        await authority.close()
