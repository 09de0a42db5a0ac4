"""HTTP to the authorization service; the one home of httpcore.

httpcore has a connection pool and TLS, and none of what a browser's friend would do
here: it follows no redirect, keeps no cookie, unpacks nothing, and takes no proxy from
the environment. So the credential goes to the one address that was given.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Final

import anyio
import httpcore

from bright_server.credentials import read_credential
from bright_server.errors import AuthorityUnavailable, ConfigurationError
from bright_server.settings import Settings

# At debug it would log addresses and headers.
logging.getLogger("httpcore").setLevel(logging.WARNING)

# Shorter than servers keep an idle connection: it should be ours to close.
_KEPT_SECONDS: Final = 3.0

# A kept connection may have been closed from the other side just now.
_BROKEN: Final = (
    httpcore.RemoteProtocolError,
    httpcore.ReadError,
    httpcore.WriteError,
)
_FAULTS: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    httpcore.ConnectionNotAvailable,
    OSError,
)


class AuthorityService:
    """Asks one service questions over a bounded pool of connections.

    Has no deadline of its own: whoever asks has one.

    Raises:
        ConfigurationError: the credential or the certificates cannot be used.
    """

    def __init__(self, address: str, settings: Settings) -> None:
        self._address = address
        self._max_answer_bytes = settings.max_authority_answer_bytes
        self._headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json"),
            (b"accept-encoding", b"identity"),
            *_credential_header(settings),
        ]
        self._under_way: dict[asyncio.Task[bytes | None], anyio.CancelScope] = {}
        most = settings.max_authority_newcomers + settings.max_authority_questions
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_trust(settings.authority_ca_file),
            max_connections=most,
            max_keepalive_connections=most,
            keepalive_expiry=_KEPT_SECONDS,
        )

    async def ask(self, path: str, question: bytes) -> bytes:
        """Return the body of the answer.

        A question changes nothing, so one whose connection breaks is asked once more.
        Whoever is cancelled meanwhile costs no place in the pool.

        Raises:
            AuthorityUnavailable: there is no answer that could be read.
        """
        # httpcore tidies up behind a scope of anyio's that is cancelled. A task that is
        # cancelled just while it puts a connection away leaves that place taken for
        # good, and with the last place nobody would be answered any more.
        scope = anyio.CancelScope()
        exchange = asyncio.create_task(self._exchange(scope, path, question))
        self._under_way[exchange] = scope
        exchange.add_done_callback(self._ended)
        try:
            await asyncio.wait({exchange})
        except asyncio.CancelledError:
            scope.cancel()
            raise
        answer = exchange.result()
        if answer is None:
            raise AuthorityUnavailable("this server is stopping")
        return answer

    async def close(self) -> None:
        """Give up what is under way, and close every connection."""
        for scope in self._under_way.values():
            scope.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._pool.aclose()

    def _ended(self, exchange: asyncio.Task[bytes | None]) -> None:
        del self._under_way[exchange]
        if not exchange.cancelled():
            exchange.exception()  # whoever asked may be gone: then nobody hears of it

    async def _exchange(
        self, scope: anyio.CancelScope, path: str, question: bytes
    ) -> bytes | None:
        """Ask within a scope; None: it was cancelled."""
        with scope:
            try:
                try:
                    return await self._ask_once(path, question)
                except _BROKEN:
                    return await self._ask_once(path, question)
            except _FAULTS as error:
                raise _in_words(error) from error
        return None

    async def _ask_once(self, path: str, question: bytes) -> bytes:
        async with self._pool.stream(
            "POST", self._address + path, headers=self._headers, content=question
        ) as answer:
            if answer.status != 200:
                moved = ", and is not followed" if 300 <= answer.status < 400 else ""
                raise AuthorityUnavailable(
                    f"it answers with HTTP {answer.status}{moved}", "status"
                )
            body = bytearray()
            async for part in answer.aiter_stream():
                body += part
                if len(body) > self._max_answer_bytes:
                    raise AuthorityUnavailable(
                        f"its answer is longer than {self._max_answer_bytes} bytes"
                        " (BRIGHT_MAX_AUTHORITY_ANSWER_BYTES)",
                        "oversized",
                    )
            return bytes(body)


def _in_words(error: Exception) -> AuthorityUnavailable:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = f"its certificate is not trusted ({cause.verify_message})"
            return AuthorityUnavailable(reason, "tls")
        if isinstance(cause, ssl.SSLError):
            return AuthorityUnavailable("no TLS connection comes about", "tls")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpcore.ProtocolError):
        return AuthorityUnavailable("what it speaks is not HTTP", "malformed")
    return AuthorityUnavailable(
        f"it cannot be reached ({type(error).__name__})", "unreachable"
    )


def _trust(certificates: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificates)
    except OSError as error:  # an SSLError is one
        raise ConfigurationError(
            f"BRIGHT_AUTHORITY_CA_FILE {certificates} cannot be used"
            f" ({error.strerror or 'no certificates in it'}): give a file of"
            " certificates in PEM"
        ) from error


def _credential_header(settings: Settings) -> list[tuple[bytes, bytes]]:
    credential = read_credential(
        "BRIGHT_AUTHORITY_CREDENTIAL",
        settings.authority_credential,
        settings.authority_credential_file,
    )
    if credential is None:
        return []
    return [(b"authorization", b"Bearer " + credential.encode())]
