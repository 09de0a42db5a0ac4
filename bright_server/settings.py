"""Every limit and address of the server, in one place.

Read from the environment (`BRIGHT_…`) and from the command line, which wins. Each
queue, cache and retry of the server has its bound here. Sizes are bytes, times say
their unit.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    SecretStr,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bright_server.database_address import (
    DatabaseAddress,
    SqliteFile,
    database_address,
)
from bright_server.errors import ConfigurationError

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
LogLevel = Annotated[str, Field(pattern="^(?i:debug|info|warning|error|critical)$")]


def service_url(text: str) -> str:
    """Return the address of a service that is sent a credential; no slash at its end.

    Raises:
        ValueError: it is none, it holds a secret or could, or its answers could be
            forged on the way. The text itself is not in the words.
    """
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError("an address holds no spaces and nothing but ASCII")
    if any(sign in text for sign in "@?#"):
        raise ValueError(
            "no user, password, query or fragment belongs into the address: the"
            " credential comes from a file (BRIGHT_…_CREDENTIAL_FILE)"
        )
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in {"https", "http"}:
        # Not `from` the cause: it quotes the text, and a slip may hold a secret.
        raise ValueError("give an address like https://authority.example/bright")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise ValueError("use https: only this machine itself may be asked over http")
    return text.rstrip("/")


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


AuthorityUrl = Annotated[str, AfterValidator(service_url)]
# As text in the environment, and between a server and its writer's process.
Database = Annotated[
    DatabaseAddress,
    NoDecode,
    BeforeValidator(database_address),
    PlainSerializer(str),
]


class Settings(BaseSettings):
    """The settings of `bright serve`; the defaults suit one machine."""

    # An input may be a slip that holds a secret.
    model_config = SettingsConfigDict(
        env_prefix="BRIGHT_", frozen=True, hide_input_in_errors=True
    )

    database: Database = SqliteFile(Path("var/bright.db"))
    """A file's path, postgresql://…, redis://…, rediss://… or memory:."""
    database_password: SecretStr | None = Field(default=None, exclude=True)
    database_password_file: Path | None = None
    """Holds the password of the database's user; read whenever it is connected to."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    log_level: LogLevel = "info"
    conformance_echo: bool = False
    allowed_extension_ids: tuple[str, ...] = ()
    """Ids of extensions that may connect; empty: every extension, never a web page.

    In the environment a JSON list: `["digglfcnabpjfechgmleddlgdipiilej"]`.
    """

    # Who is asked about bindings (docs/authority.md).
    authority: AuthorityUrl | None = None
    """The address of a service; None: the bindings in this server's database."""
    authority_credential: SecretStr | None = Field(default=None, exclude=True)
    authority_credential_file: Path | None = None
    """Holds what is sent to the service as a bearer token; read at the start."""
    authority_ca_file: Path | None = None
    """Certificates to trust for the service, PEM; None: those of the system."""
    max_authority_newcomers: Count = 16
    """Connections whose `hello` is being asked about at once; further ones wait."""
    max_authority_questions: Count = 2
    """Questions about standings at once; what comes meanwhile gathers into the next."""
    max_authority_bindings: Count = 500
    """Bindings in one question."""
    max_authority_answer_bytes: Count = 1_048_576

    # Commands to a page (docs/operate.md).
    operator_credential: SecretStr | None = Field(default=None, exclude=True)
    operator_credential_file: Path | None = None
    """Holds what an operator sends as a bearer token; without one nobody commands."""
    max_commands: Count = 256
    """Commands under way, of all connections; one more is refused."""
    max_connection_commands: Count = 8
    max_command_seconds: Count = 120
    """The longest time that may be given to a command."""
    max_order_bytes: Count = 131_072
    command_grace_seconds: Seconds = 2
    """How long after its deadline an extension may still say what became of one."""

    # One frame, one batch, one message.
    max_frame_bytes: Count = 1_048_576
    max_batch_messages: Count = 200
    max_message_bytes: Count = 262_144

    # One connection.
    max_in_flight_batches: Count = 8
    max_pending_operations: Count = 64
    max_registered_pages: Count = 64
    max_send_queue_frames: Count = 512
    max_send_queue_bytes: Count = 8_388_608
    hello_deadline_seconds: Seconds = 5
    heartbeat_interval_ms: Annotated[int, Field(ge=10, le=20_000)] = 15_000
    # Below 20 s: only a message that a page could send keeps a service worker alive.
    keepalive_interval_seconds: Annotated[float, Field(gt=0, lt=20)] = 15
    ping_interval_seconds: Seconds = 20
    ping_timeout_seconds: Seconds = 20
    close_deadline_seconds: Seconds = 3
    request_deadline_seconds: Seconds = 10
    """For a whole request after connecting, or after the last answer."""

    # All connections together.
    max_connections: Count = 1_000
    max_pending_bytes: Count = 67_108_864
    max_group_messages: Count = 20_000
    max_group_items: Count = 1_024
    max_cached_conversations: Count = 20_000

    # A database server that is shared (PostgreSQL).
    database_connections: Count = 8
    """Of one process at once; who finds none free waits `database_connect_seconds`."""
    database_connect_seconds: Seconds = 5
    database_statement_seconds: Seconds = 30
    """For one statement, waiting for a lock that another server holds included."""
    database_transaction_seconds: Seconds = 60
    """For all of a transaction, from the first statement to the disk."""
    max_database_attempts: Count = 5
    """Of one transaction that the server has rolled back for no fault of its own."""

    # Single commits, and the recovery of those that were left.
    max_commits_under_way: Count = 1_024
    """One more is told to come again."""
    max_commit_attempts: Count = 5
    """Of one call; after them the commit is left to its sender and to recovery."""
    commit_retry_seconds: Annotated[float, Field(ge=0)] = 0.05
    """The pause before the second attempt; each further one doubles it."""
    max_client_message_id_chars: Count = 128
    max_sent_text_bytes: Count = 65_536
    max_sent_message_bytes: Count = 262_144
    """All that a sender says of one message together."""
    max_mentions: Count = 100
    sender_messages_per_second: Seconds = 10
    sender_burst_messages: Count = 100
    max_quota_senders: Count = 20_000
    """Senders whose quota is remembered; of others it is full."""
    recovery_interval_seconds: Seconds = 5
    recovery_age_ms: Count = 10_000
    """How old a commit is before recovery goes on with it in its sender's place."""
    max_recovery_batch: Count = 200
    max_recovery_at_once: Count = 8
    max_stuck_commits: Count = 1_000
    """Commits that recovery could not finish and therefore takes up last."""
    recovery_lease_ms: Count = 30_000
    """After which another process may recover in the place of a dead one; after twice
    that, if the clock was set back meanwhile. One value for all servers of a store."""
    max_history_items: Count = 500
    max_history_bytes: Count = 1_048_576

    # Redis or Valkey as the database (docs/backends.md).
    redis_connections: Count = 16
    """Of one process at once; further work waits for one."""
    redis_timeout_seconds: Seconds = 5
    """For a connection, and for each answer; after it the outcome is unknown."""
    redis_shards: Annotated[int, Field(ge=1, le=4_096)] = 64
    """Into how many slots a new database is spread; one that is there keeps its own."""
    redis_replicas: Annotated[int, Field(ge=0)] = 0
    """How many replicas have a write on disk before it is acknowledged."""
    redis_wait_ms: Count = 2_000
    """How long they are waited for; without them in time the outcome is unknown."""

    max_copied_records: Count = 1_000
    """Records that `bright store copy` carries at a time."""

    # The writer's process.
    writer_process: bool = True
    """Off, the writer shares this process: less memory, and about half the rate."""
    max_writer_deaths: Count = 3
    """Deaths in a row after which waiting work is given back as not stored."""
    writer_start_seconds: Seconds = 30
    writer_restart_seconds: Seconds = 0.2
    writer_restart_max_seconds: Seconds = 5

    # Patience.
    lock_patience_seconds: Annotated[float, Field(ge=0)] = 3
    """How long a starting server waits for a killed one's last group."""
    busy_timeout_ms: Count = 250
    commit_patience_seconds: Seconds = 60
    authority_deadline_seconds: Seconds = 2
    readiness_deadline_seconds: Seconds = 2
    readiness_room_bytes: Annotated[int, Field(ge=1, le=1_073_741_824)] = 1_048_576
    """What has to fit on the disk before a server is ready that has started, or that
    could not write for lack of room."""
    drain_deadline_seconds: Seconds = 4

    @property
    def database_path(self) -> Path:
        """Return the path of the database's file.

        Raises:
            ConfigurationError: the database is no file.
        """
        if not isinstance(self.database, SqliteFile):
            raise ConfigurationError(
                f"{self.database} is no file: this needs the path of one in --database"
                " (or BRIGHT_DATABASE)"
            )
        return self.database.path
