"""The driver's pool of connections, set up so that it repeats nothing by itself."""

from __future__ import annotations

from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, SSLConnection
from redis.asyncio.connection import Connection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider

from bright_server.credentials import read_credential
from bright_server.database_address import RedisServer
from bright_server.errors import ConfigurationError
from bright_server.settings import Settings

# RESP2 has one kind of list; what a command answers does not depend on its version.
_PROTOCOL: Final = 2


class _Password(CredentialProvider):
    """Reads the password whenever a connection is made."""

    def __init__(self, settings: Settings, user: str | None) -> None:
        self._settings = settings
        self._user = user

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        password = read_credential(
            "BRIGHT_DATABASE_PASSWORD",
            self._settings.database_password,
            self._settings.database_password_file,
        )
        if password is None:
            raise ConfigurationError(
                f"the database's user {self._user!a} needs a password: name its file in"
                " BRIGHT_DATABASE_PASSWORD_FILE"
            )
        return (self._user, password) if self._user else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()


def pool_of(settings: Settings) -> BlockingConnectionPool:
    """Return a pool for the server of these settings; nothing is connected yet.

    Raises:
        ConfigurationError: the address is not one server of Redis.
    """
    address = settings.database
    if not isinstance(address, RedisServer):
        raise ConfigurationError(f"{address} is no address of Redis")
    if len(address.hosts) != 1:
        raise ConfigurationError(
            f"{address} names several hosts: give the primary's alone"
        )
    timeout = settings.redis_timeout_seconds
    how: dict[str, Any] = {
        "host": address.hosts[0].name,
        "port": address.hosts[0].port,
        "db": address.number,
        "protocol": _PROTOCOL,
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": timeout,
        "socket_timeout": timeout + settings.redis_wait_ms / 1_000,
        "timeout": timeout,
        "max_connections": settings.redis_connections,
    }
    if address.user or settings.database_password or settings.database_password_file:
        how["credential_provider"] = _Password(settings, address.user)
    if address.tls:
        how |= _tls(dict(address.options))
        return BlockingConnectionPool(connection_class=SSLConnection, **how)
    return BlockingConnectionPool(connection_class=Connection, **how)


def _tls(options: dict[str, str]) -> dict[str, Any]:
    return {
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        "ssl_ca_certs": options.get("sslrootcert"),
        "ssl_certfile": options.get("sslcert"),
        "ssl_keyfile": options.get("sslkey"),
    }
