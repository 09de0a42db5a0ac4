"""What the ledger of contact profiles must be, beside what the page said.

A profile may be as old as the last look at the list, so an earlier one of the same
contact is none of these faults; a missing one is not, either, while the list is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from extension_harness.page.ledger import Ledger
from extension_harness.storage import DatabaseDump


def profile_faults(ledger: Ledger, extension: DatabaseDump) -> Iterator[str]:
    """Each profile is what the page said of that very contact at some time [OT-80]."""
    for record in extension.records("onetalk_contact_profiles"):
        conversation = str(record["conversationId"])
        said = [
            (each.ali_id, each.profile())
            for each in ledger.profile_versions(conversation)
        ]
        known = (record["aliId"], record["profile"])
        pending = record.get("pending")
        if record["channelAccountId"] != ledger.account:
            yield f"profile of another account: {record['key']}"
        if pending is None and record["lastUploadedFingerprint"] is None:
            yield f"profile neither pending nor uploaded: {record['key']}"
        if known != (None, None) and known not in said:
            yield f"profile that no list said: {record['key']} {known}"
        if pending and (pending["aliId"], pending["profile"]) not in said:
            yield f"pending profile that no list said: {record['key']} {pending}"
