"""Every error of the server, in one tree.

BrightError
├── FrameRefused                a frame that the wire contract does not allow
├── AuthorizationError
│   ├── BindingRefused          the token names no binding, or a revoked one
│   └── AuthorityUnavailable    the authority did not answer: fail closed (OT-60)
├── MessageStoreError                  what a store lets its callers see (MS-30)
│   ├── StoreUnavailable        busy, full or failing now: try again
│   ├── StoreInUse              another server holds this database
│   ├── StoreMissing            there is no database at this path
│   ├── SchemaRefused           this is not a database that this server may open
│   ├── CopyRefused             a copy of a store cannot be begun, or not gone on with
│   ├── CopyDiffers             what was copied is not what was read
│   ├── IdentityConflict        the key belongs to a request that says otherwise (MS-12)
│   ├── CommitUnknown           nothing was reserved under this key
│   ├── WrongCommitState        a step was asked for before the one that it needs
│   ├── PublicationConflict     another place in the log is kept already
│   ├── CommitUnreadable        what is persisted of a commit cannot be read
│   ├── NotAMember              who asks is no member of the conversation
│   └── HistoryQueryInvalid     a page of history cannot be asked for like this
├── CommitError                 what the committer lets its callers see (MS-31)
│   ├── Overloaded              more is pending than the settings allow
│   ├── CommitterStopped        the server is going down
│   ├── InvalidClientMessageId  the client's id of a message cannot be one (MS-10)
│   ├── SendRefused             membership, content or quota forbid it (MS-10)
│   ├── CommitConflict          the key belongs to a request that says otherwise (MS-12)
│   ├── NothingToResume         nothing was reserved under this key
│   ├── Recoverable             not committed yet: the same key can go on (MS-31)
│   └── CommitUnavailable       store or log cannot take a commit now
├── CommitLogError
│   └── PublicationNotDurable   no evidence that the log has it (CL-30)
├── TooManyCommands             more commands are under way than the settings allow
├── CommandFailed               an order for a command that the server did not take
└── ConfigurationError          a setting or an argument that cannot work

Each error keeps its facts as fields and words itself: what was wrong, where, and what
to do. Errors of drivers are translated where the driver is called, and stay as the
cause.
"""

# ruff: noqa: N818 - the specification names its errors without a suffix
from __future__ import annotations

from pathlib import Path


class BrightError(Exception):
    """The root: whoever catches this catches every error that Bright words itself."""


class FrameRefused(BrightError):
    """A frame that is answered by `ws.error`; the connection goes on.

    `path` is the dotted path of the field at fault, `request_id` the frame's own where
    it could be read.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        path: str | None = None,
        request_id: str | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.path = path
        self.request_id = request_id
        super().__init__(f"{code}: {message}" + (f" (at {path})" if path else ""))


class AuthorizationError(BrightError):
    """The authority said no, or said nothing."""


class BindingRefused(AuthorizationError):
    """The binding is unknown or revoked; the same credentials will not work again."""

    def __init__(self) -> None:
        super().__init__(
            "binding missing, unknown or revoked: create one with"
            " `bright binding create`"
        )


class AuthorityUnavailable(AuthorizationError):
    """The authority did not answer; nothing is allowed until it does (OT-60).

    `fault` is the kind of reason in one word, for a metric; `who` did not answer.
    """

    def __init__(
        self,
        reason: str,
        fault: str = "unreachable",
        who: str = "the authorization service",
    ) -> None:
        self.reason = reason
        self.fault = fault
        super().__init__(f"{who} does not answer: {reason}")


class MessageStoreError(BrightError):
    """A store could not do what its contract says."""


class StoreUnavailable(MessageStoreError):
    """The store cannot do this now; nothing of the work was stored."""

    def __init__(self, doing: str, reason: str) -> None:
        self.doing = doing
        self.reason = reason
        super().__init__(f"the store could not {doing}: {reason}")


class StoreInUse(MessageStoreError):
    """Another process has this database for itself."""

    def __init__(self, database: Path | str, holder: str) -> None:
        self.database = database
        self.holder = holder
        super().__init__(
            f"another server{holder} already serves {database}: stop it, or give this"
            " one another --database"
        )


class StoreMissing(MessageStoreError):
    """There is no database at this path, or at this address as text."""

    def __init__(self, database: Path | str) -> None:
        self.database = database
        super().__init__(
            f"no database at {database}: check --database (or BRIGHT_DATABASE)"
        )


class SchemaRefused(MessageStoreError):
    """It is no database of Bright, or one that needs another Bright.

    `database` is a file's path, or an address as text.
    """

    def __init__(self, database: Path | str, reason: str) -> None:
        self.database = database
        self.reason = reason
        super().__init__(f"{database} was not opened: {reason}")


class CopyRefused(MessageStoreError):
    """A copy of a store cannot be begun, or not gone on with; nothing was changed."""

    def __init__(self, into: str, reason: str) -> None:
        self.into = into
        self.reason = reason
        super().__init__(f"nothing is copied into {into}: {reason}")


class CopyDiffers(MessageStoreError):
    """What was copied is not what was read; the copy is not finished."""

    def __init__(self, store_id: str, kinds: str) -> None:
        self.store_id = store_id
        self.kinds = kinds
        super().__init__(
            f"the copy of {store_id} differs in its {kinds}: was the source written"
            " meanwhile? Remove the copy, and copy again while nobody writes"
        )


class IdentityConflict(MessageStoreError):
    """The key was reserved by a request with another canonical identity (MS-12)."""

    def __init__(self, client_message_id: str) -> None:
        self.client_message_id = client_message_id
        super().__init__(
            f"the id {client_message_id!a} was used for another message: the first"
            " stays, give this one an id of its own"
        )


class CommitUnknown(MessageStoreError):
    """Nothing was reserved under this key, or in this conversation."""

    def __init__(self, client_message_id: str) -> None:
        self.client_message_id = client_message_id
        super().__init__(f"nothing was reserved for the id {client_message_id!a}")


class WrongCommitState(MessageStoreError):
    """A step was asked for before the one that it needs; nothing was changed."""

    def __init__(self, client_message_id: str, needed: str, found: str) -> None:
        self.client_message_id = client_message_id
        self.needed = needed
        self.found = found
        super().__init__(
            f"the commit of {client_message_id!a} is {found}, this step needs {needed}"
        )


class PublicationConflict(MessageStoreError):
    """Another place in the log is kept already; it stays."""

    def __init__(self, client_message_id: str) -> None:
        self.client_message_id = client_message_id
        super().__init__(
            f"the commit of {client_message_id!a} has another publication: the first"
            " stays, read it again"
        )


class CommitUnreadable(MessageStoreError):
    """What is persisted of a commit is in no format that this server knows."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason
        super().__init__(
            f"the commit at {where} cannot be read: {reason}; it is left as it is:"
            " upgrade Bright, or restore the store"
        )


class NotAMember(MessageStoreError):
    """Who asks is no member of the conversation; nothing was read."""

    def __init__(self, actor: str) -> None:
        self.actor = actor
        super().__init__(f"{actor!a} is no member of this conversation")


class HistoryQueryInvalid(MessageStoreError):
    """A page of history cannot be asked for like this."""


class CommitError(BrightError):
    """What the committer lets its callers see; none of it is an ACK."""


class Overloaded(CommitError):
    """More work is pending than the settings allow; try again later."""

    def __init__(self, pending_bytes: int, limit_bytes: int) -> None:
        self.pending_bytes = pending_bytes
        self.limit_bytes = limit_bytes
        super().__init__(
            f"{pending_bytes} bytes are waiting to be committed, the limit is"
            f" {limit_bytes} (BRIGHT_MAX_PENDING_BYTES): try again later"
        )


class CommitterStopped(CommitError):
    """The server is going down; the work was not committed."""

    def __init__(self) -> None:
        super().__init__("the server is stopping: connect again and send it again")


class InvalidClientMessageId(CommitError):
    """The client's id of a message cannot be one (MS-10)."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the client message id cannot be used: {reason}")


class SendRefused(CommitError):
    """Membership, content or quota forbid it; nothing was reserved (MS-10).

    `code` is `not_a_member`, `invalid_content` or `quota_exceeded`.
    """

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"{code}: {reason}")


class CommitConflict(CommitError):
    """The key belongs to a request that says otherwise; the first stays (MS-12)."""


class NothingToResume(CommitError):
    """Nothing was reserved under this key."""


class Recoverable(CommitError):
    """Not committed yet: the same key can go on, and recovery will (MS-31)."""

    def __init__(self, client_message_id: str, reason: str) -> None:
        self.client_message_id = client_message_id
        self.reason = reason
        super().__init__(
            f"{client_message_id!a} is not committed yet ({reason}): send it again with"
            " the same id"
        )


class CommitUnavailable(CommitError):
    """Store or log cannot take a commit now."""


class CommitLogError(BrightError):
    """A log could not do what its contract says."""


class PublicationNotDurable(CommitLogError):
    """There is no evidence that the log has it; it may have (CL-30)."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the log gave no evidence of the publication: {reason}")


class TooManyCommands(BrightError):
    """As many commands as may be are under way; this one was not taken."""

    def __init__(self, under_way: int) -> None:
        self.under_way = under_way
        super().__init__(
            f"{under_way} commands are under way (BRIGHT_MAX_COMMANDS): nothing was"
            " sent, try again when one of them is settled"
        )


class CommandFailed(BrightError):
    """The server did not take an order for a command, or could not be asked."""


class ConfigurationError(BrightError):
    """A setting or an argument that cannot work."""
