"""The contacts of a page's lists come into the store's ledger of profiles, cleaned."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from e2e.proof import prove
from e2e.rigs import SHORT, shorten_alarm
from e2e.workers import worker_status
from extension_harness.errors import WaitTimeoutError
from extension_harness.rig import MESSAGES, Rig
from extension_harness.waiting import wait_until

PROFILES = "onetalk_contact_profiles"
OBSERVED = "contact.profile.observed"
SECRETS = ("token", "encrypt", "MC1IDX", "signature")
LIST_MS = 1_000
Profile = tuple[str, dict[str, str]]


def stored(rig: Rig) -> dict[str, dict[str, Any]]:
    """The profile records by conversation."""
    rows = rig.extension_store().records(PROFILES)
    return {row["conversationId"]: row for row in rows}


def known(rig: Rig) -> dict[str, Profile]:
    """The newest that is known of each contact, at Bright already or not yet."""
    return {
        conversation: (newest(row)["aliId"], newest(row)["profile"])
        for conversation, row in stored(rig).items()
    }


def newest(row: dict[str, Any]) -> dict[str, Any]:
    pending: dict[str, Any] = row.get("pending") or row
    return pending


def expected(rig: Rig) -> dict[str, Profile]:
    return {
        conversation: (each.ali_id, each.profile())
        for conversation, each in rig.page.ledger.profiles().items()
    }


def wait_for_profiles(rig: Rig) -> None:
    """Wait until the store has each contact as the page's ledger has it now."""
    try:
        wait_until(lambda: known(rig) == expected(rig), 40, "the profiles", every=0.3)
    except WaitTimeoutError:
        assert known(rig) == expected(rig)
        raise


@pytest.mark.tripwired
@pytest.mark.corpus(seed=21, conversations=14, messages=80)
def test_every_contact_is_known_as_the_page_says_and_again_after_a_restart(
    rig: Rig,
) -> None:
    """OT-80, OT-81, OT-87: cleaned, fingerprinted, pending; seen again, the same.

    Bright hears of none of them here, so that all are pending from first to last.
    """
    unheard = rig.proxy.swallow(OBSERVED, count=10_000, direction="to_server")
    rig.configure(**SHORT, listRefreshMs=LIST_MS)
    rig.open_page()
    wait_for_profiles(rig)
    companies = [profile.get("companyName") for _, profile in known(rig).values()]
    assert None in companies, "no placeholder among them"
    first = stored(rig)
    for row in first.values():
        check_record(row, rig.page.corpus.account)
    text = json.dumps(list(first.values())).lower()
    assert not [each for each in SECRETS if each.lower() in text]

    # A second look, by another worker: the same records, only observed later.
    rig.worker.stop()
    worker_status(rig.browser)
    wait_until(lambda: is_later(first, stored(rig)), 40, "a second look", every=0.3)
    assert timeless(stored(rig)) == timeless(first)

    # People change their names; the newest is what waits for Bright.
    chat = rig.page.corpus.conversations[2].conversation_id
    shorten_alarm(rig)
    rig.page.rename(chat, "Ines Okafor-Lind")
    wait_for_profiles(rig)
    renamed = stored(rig)[chat]["pending"]
    assert renamed["profile"]["name"] == "Ines Okafor-Lind"
    assert renamed["fingerprint"] != first[chat]["pending"]["fingerprint"]
    rig.browser.kill()
    rig.browser.reopen()
    assert timeless(stored(rig))[chat]["pending"]["profile"]["name"] == (
        "Ines Okafor-Lind"
    )
    unheard.release()
    rig.open_page()
    prove(rig)


def check_record(row: dict[str, Any], account: str) -> None:
    """It is the record of an observation that nobody has confirmed."""
    scope = [account, row["conversationId"]]
    assert row["key"] == json.dumps(scope, separators=(",", ":"))
    assert row["channelAccountId"] == account
    nothing = (row["aliId"], row["profile"], row["lastUploadedFingerprint"])
    assert nothing == (None, None, None)
    waiting = row["pending"]
    assert row["updatedAtMs"] == waiting["observedAtMs"] > 0
    named = {"aliId": waiting["aliId"], "profile": waiting["profile"]}
    canonical = json.dumps(
        named, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    assert waiting["fingerprint"] == digest


def is_later(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return all(
        after[chat]["pending"]["observedAtMs"] > row["pending"]["observedAtMs"]
        for chat, row in before.items()
    )


def timeless(rows: dict[str, Any]) -> dict[str, Any]:
    return {
        chat: {
            **row,
            "updatedAtMs": 0,
            "pending": {**row["pending"], "observedAtMs": 0},
        }
        for chat, row in rows.items()
    }


# From here on no transaction may write a profile.
REFUSE_PROFILES = """
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (...given) {
  if (this.name === "onetalk_contact_profiles") {
    throw new DOMException("refused by the test", "DataError");
  }
  return put.apply(this, given);
};
"""


@pytest.mark.instrument(REFUSE_PROFILES)
@pytest.mark.corpus(seed=22, conversations=4, messages=40)
def test_profiles_that_cannot_be_kept_hold_up_no_message(rig: Rig) -> None:
    """OT-85, OT-87: that is a diagnostic; every message goes its way."""
    rig.configure(**SHORT)
    rig.open_page()
    prove(rig)
    assert stored(rig) == {}
    assert not rig.proxy.seen(OBSERVED), "told and not stored"
    assert len(rig.extension_store().records(MESSAGES)) >= 40
    # A sync may rest before the page's whole list, which names the contacts, was read.
    wait_until(lambda: fault_code(rig) == "profiles_not_recorded", 40, "the diagnostic")
    assert stored(rig) == {}
    with rig.browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(
            "document.querySelector('#last-error-text').textContent"
            ".includes('Messages are not affected')"
        )


def fault_code(rig: Rig) -> str | None:
    fault = worker_status(rig.browser)["lastFault"]
    return None if fault is None else str(fault["code"])
