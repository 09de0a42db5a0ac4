"""Where the database is: one setting names the back end and how it is reached. No I/O.

    PATH                                        a SQLite file, made where there is none
    postgresql://USER@HOST:PORT/NAME?OPTIONS    several hosts: HOST:PORT,HOST:PORT
    redis://HOST:PORT/NUMBER?OPTIONS            Redis or Valkey; rediss:// over TLS
    memory:                                     nothing outlives the process

An address holds no secret, so it may be shown and logged whole: a password comes from
BRIGHT_DATABASE_PASSWORD_FILE or BRIGHT_DATABASE_PASSWORD.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# What is meant as an address of a server, or of nothing, and is none: as a path it
# would be made, and shown, with whatever secret it holds.
_SLIP: Final = re.compile(
    r"\s*:?(postgresql|postgres|rediss?|valkeys?|sqlite|memory|file|jdbc)\s*:"
    r"|.*://"
    r"|(.*[\s;])?(host|hostaddr|dbname|user|password|sslpassword|passfile)\s*="
    r"|[^/]*:[^/]*@",
    re.IGNORECASE | re.DOTALL,
)
_HOST: Final = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+))(?::(?P<port>[0-9]{1,5}))?"
)
_HIGHEST_PORT: Final = 65_535
_HIGHEST_NUMBER: Final = 2**31 - 1
_USES: Final = (
    "give the path of a file, postgresql://USER@HOST:PORT/NAME,"
    " redis://HOST:PORT/NUMBER, rediss://… or memory:"
)
POSTGRESQL_PORT: Final = 5432
REDIS_PORT: Final = 6379
POSTGRESQL_OPTIONS: Final = frozenset(
    {
        "application_name", "channel_binding", "connect_timeout", "host", "sslcert",
        "sslcrl", "sslkey", "sslmode", "sslrootcert", "target_session_attrs",
    }
)  # fmt: skip
"""libpq's own words; `host` is the folder of a Unix socket."""
REDIS_OPTIONS: Final = frozenset({"sslcert", "sslkey", "sslrootcert"})
"""The same words with the same meaning: files in PEM."""


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A database in a file of this machine."""

    path: Path

    def __str__(self) -> str:
        """Return the path."""
        return str(self.path)


@dataclass(frozen=True, slots=True)
class InMemory:
    """A database that ends with its process: for tests and trials."""

    def __str__(self) -> str:
        """Return `memory:`."""
        return "memory:"


@dataclass(frozen=True, slots=True)
class Host:
    """One server's name, or address, and port."""

    name: str
    port: int

    def __str__(self) -> str:
        """Return `name:port`, an IPv6 address in brackets."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{name}:{self.port}"


@dataclass(frozen=True, slots=True)
class PostgresqlServer:
    """A database of PostgreSQL. More than one host: the first that suits is used."""

    hosts: tuple[Host, ...]
    name: str
    user: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the address; no secret is in it."""
        return _shown("postgresql", self.user, self.hosts, self.name, self.options)


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A numbered database of Redis or Valkey; more than one host: nodes of a cluster.

    `user` is one of the server's access list; None: its default user.
    """

    hosts: tuple[Host, ...]
    number: int = 0
    user: str | None = None
    tls: bool = False
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the address; no secret is in it."""
        scheme = "rediss" if self.tls else "redis"
        number = str(self.number)
        return _shown(scheme, self.user, self.hosts, number, self.options)


DatabaseAddress: TypeAlias = SqliteFile | InMemory | PostgresqlServer | RedisServer


def database_address(given: object) -> DatabaseAddress:
    """Return the address that a person wrote; an address or a path is one already.

    Raises:
        ValueError: it is none, or it holds a password. The text is not in the words,
            for a slip may hold a secret.
    """
    if isinstance(given, DatabaseAddress):
        return given
    if isinstance(given, Path):
        return SqliteFile(given)
    if not isinstance(given, str):
        raise ValueError(_USES)  # noqa: TRY004 - pydantic words ValueError alone
    if not given:
        raise ValueError(f"it is empty: {_USES}")
    if given == "memory:":
        return InMemory()
    scheme = _SCHEME.match(given)
    if scheme is None:
        if _SLIP.match(given):
            raise ValueError(
                f"it is no path and no address: {_USES}; a password comes from"
                " BRIGHT_DATABASE_PASSWORD_FILE"
            )
        return SqliteFile(Path(given))
    url = _Url(given[scheme.end() :])
    match scheme[1].lower():
        case "postgresql" | "postgres":
            return _postgresql(url)
        case "redis":
            return _redis(url, tls=False)
        case "rediss":
            return _redis(url, tls=True)
    raise ValueError(f"no back end has this scheme: {_USES}")


@dataclass(frozen=True, slots=True)
class _Url:
    """The parts of an address behind its scheme, not yet decoded."""

    rest: str = field(repr=False)

    @property
    def authority(self) -> str:
        return self.rest.partition("?")[0].partition("/")[0]

    @property
    def path(self) -> str:
        return unquote(self.rest.partition("?")[0].partition("/")[2])

    def user(self) -> str | None:
        before, is_there, _ = self.authority.rpartition("@")
        # An @ further on: a password that itself has a slash or a question mark.
        if ":" in before or "@" in self.rest[len(self.authority) :]:
            raise ValueError(
                "a password does not belong into the address, where processes and logs"
                " show it: put it into a file and name that in"
                " BRIGHT_DATABASE_PASSWORD_FILE (or set BRIGHT_DATABASE_PASSWORD)"
            )
        return unquote(before) if is_there and before else None

    def hosts(self, default_port: int) -> tuple[Host, ...]:
        text = self.authority.rpartition("@")[2]
        return (
            tuple(_host(part, default_port) for part in text.split(",")) if text else ()
        )

    def options(self, known: frozenset[str]) -> tuple[tuple[str, str], ...]:
        given = parse_qsl(self.rest.partition("?")[2], keep_blank_values=True)
        if any(name not in known for name, _ in given):
            raise ValueError(
                "it has an option that is not known here; known are"
                f" {', '.join(sorted(known))}; a password comes from"
                " BRIGHT_DATABASE_PASSWORD_FILE"
            )
        if len({name for name, _ in given}) < len(given):
            raise ValueError("it has an option twice")
        return tuple(sorted(given))


def _host(text: str, default_port: int) -> Host:
    found = _HOST.fullmatch(text)
    port = int(found["port"] or default_port) if found else 0
    if found is None or not 0 < port <= _HIGHEST_PORT:
        raise ValueError(f"a host in it cannot be one: {_USES}")
    return Host(found["v6"] or found["name"], port)


def _postgresql(url: _Url) -> PostgresqlServer:
    user, hosts = url.user(), url.hosts(POSTGRESQL_PORT)
    options = url.options(POSTGRESQL_OPTIONS)
    if not hosts and not dict(options).get("host"):
        raise ValueError("it has no host: give postgresql://USER@HOST:PORT/NAME")
    if not url.path or "/" in url.path:
        raise ValueError("it names no database: give postgresql://USER@HOST:PORT/NAME")
    return PostgresqlServer(hosts, url.path, user, options)


def _redis(url: _Url, *, tls: bool) -> RedisServer:
    user, hosts = url.user(), url.hosts(REDIS_PORT)
    options = url.options(REDIS_OPTIONS)
    if not hosts:
        raise ValueError("it has no host: give redis://HOST:PORT/NUMBER")
    if options and not tls:
        raise ValueError("its options are for TLS: give rediss://HOST:PORT/NUMBER")
    number = url.path or "0"
    if not (number.isascii() and number.isdigit() and int(number) <= _HIGHEST_NUMBER):
        raise ValueError("its database is a number: give redis://HOST:PORT/NUMBER")
    return RedisServer(hosts, int(number), user, tls, options)


def _shown(
    scheme: str,
    user: str | None,
    hosts: tuple[Host, ...],
    name: str,
    options: tuple[tuple[str, str], ...],
) -> str:
    who = f"{quote(user, safe='')}@" if user else ""
    where = ",".join(map(str, hosts))
    how = f"?{urlencode(options, safe='/')}" if options else ""
    return f"{scheme}://{who}{where}/{quote(name, safe='')}{how}"
