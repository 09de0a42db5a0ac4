"""What the server's errors mean, in the store's own words (MS-30)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from bright_server.errors import StoreUnavailable

logger = logging.getLogger(__name__)

_REASONS: Final[tuple[tuple[type[RedisError], str], ...]] = (
    (ReadOnlyError, "the server is a read-only replica: give the primary's address"),
    (OutOfMemoryError, "the server's memory is full (maxmemory): give it more"),
    (BusyLoadingError, "the server is still loading its data"),
    (ClusterDownError, "the cluster is down"),
    (
        AuthenticationError,
        "the server refused user or password: check BRIGHT_DATABASE_PASSWORD_FILE",
    ),
)
_FORBIDDEN: Final = re.compile(r"'([a-z|_.-]+)'")
# The pool's own word, in a general error of the driver.
_ALL_BUSY: Final = "No connection available"
_CODES: Final = {
    "READONLY": _REASONS[0][1],
    "OOM": _REASONS[1][1],
    "LOADING": _REASONS[2][1],
    "CLUSTERDOWN": _REASONS[3][1],
    "MASTERDOWN": "the server has lost its primary",
    "BUSY": "the server is busy with a script that runs too long",
    "DB": "the server has no database of this number: give a lower one",
    "SELECT": "a node of a cluster has database 0 alone",
    "MISCONF": "the server cannot write to its disk, and takes no writes",
    "NOREPLICAS": "the server has too few replicas to take writes",
    "MOVED": "the server is a cluster's node and has not this key",
    "UNKILLABLE": "the server is busy with a script that runs too long",
}


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn the driver's errors into the store's, the cause kept (MS-30)."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise unavailable(doing, error) from error


def unavailable(doing: str, error: BaseException) -> StoreUnavailable:
    """Return what an error of the driver means, in the store's own words."""
    if not isinstance(error, RedisError):
        return StoreUnavailable(doing, f"no connection: {error}")
    # In a script it is an error of another kind.
    if isinstance(error, NoPermissionError) or str(error).startswith("ACL failure"):
        return StoreUnavailable(doing, _forbidden(str(error)))
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return StoreUnavailable(doing, reason)
    if isinstance(error, ResponseError):
        code = str(error).partition(" ")[0]
        reason = _CODES.get(code, "the server refused a command")
        if code not in _CODES:
            logger.error("the server refused a command: %s", error)
        return StoreUnavailable(doing, reason)
    if _ALL_BUSY in str(error):
        return StoreUnavailable(
            doing, "all connections were busy for too long (BRIGHT_REDIS_CONNECTIONS)"
        )
    return StoreUnavailable(doing, f"the server does not answer: {error}")


def _forbidden(said: str) -> str:
    """Name the command that is missing, which the server alone knows."""
    command = _FORBIDDEN.search(said)
    if command is None:
        return (
            "the server's access list forbids Bright's keys to this user: grant it"
            " `~bright:*` (ACL SETUSER)"
        )
    return (
        f"the server's access list forbids `{command[1]}` to this user: grant it"
        f" `+{command[1]}` (ACL SETUSER)"
    )
