"""The published vectors of `docs/commit-formats.md`: how they are read, and made anew.

`python -m tests.bright_server.commit.vectors` prints what the code makes of the
requests that the file holds. A change of the file is a change of a format that stores
have on disk: it takes a new version of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bright_server.commit.encoding import (
    encode_frozen,
    encode_record,
    envelope_of,
    record_of,
)
from bright_server.commit.identity import full_identity, identity_digest
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    Coordinates,
    FrozenDelivery,
    MessageContent,
    ReserveCandidate,
)
from bright_server.messages import ConversationKey

FILE = Path(__file__).parents[3] / "docs" / "commit-vectors.json"


@dataclass(frozen=True, slots=True)
class Vector:
    """What somebody asked for, and the bytes that are due."""

    name: str
    request: AuthenticatedSend
    candidate: ReserveCandidate
    delivery: FrozenDelivery
    sequence: int
    due: dict[str, str]

    def made(self) -> dict[str, str]:
        """Return what the code makes of it."""
        record = record_of(self.request, self.candidate)
        intent = CommitIntent(
            self.request.key,
            identity_digest(self.request),
            Coordinates(
                self.request.conversation, self.candidate.message_id, self.sequence
            ),
            record,
            self.delivery,
            CommitState.RESERVED,
        )
        envelope = envelope_of(intent)
        return {
            "full_identity_hex": full_identity(self.request).hex(),
            "identity_digest_hex": identity_digest(self.request).hex(),
            "record": encode_record(record).decode(),
            "frozen": encode_frozen(self.request.key, record, self.delivery).decode(),
            "envelope_key": envelope.key,
            "envelope_body": envelope.body.decode(),
        }


def read() -> list[Vector]:
    """Return the published vectors."""
    return [_vector(each) for each in json.loads(FILE.read_text(encoding="utf-8"))]


def _vector(said: dict[str, Any]) -> Vector:
    request = said["request"]
    return Vector(
        said["name"],
        AuthenticatedSend(
            CommitKey(**request["key"]),
            ConversationKey(**request["conversation"]),
            MessageContent(**request["content"]),
            request["device"],
            tuple(request["mentions"]),
            request["reply_to"],
        ),
        ReserveCandidate(**said["candidate"]),
        FrozenDelivery(**said["delivery"]),
        said["sequence"],
        said["due"],
    )


def main() -> None:
    """Print the file as the code would have it."""
    said = json.loads(FILE.read_text(encoding="utf-8"))
    for each in said:
        each["due"] = _vector(each).made()
    print(json.dumps(said, ensure_ascii=False, indent=2))  # noqa: T201 - its purpose


if __name__ == "__main__":
    main()
