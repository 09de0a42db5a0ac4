"""A Bright whose store is not the one that acknowledged gets what it does not have."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from e2e.proof import prove
from e2e.rigs import SHORT, shorten_alarm
from extension_harness.oracle.testimony import early_anchors
from extension_harness.rig import CANDIDATES, Rig
from extension_harness.waiting import wait_until


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """A rig at rest after its first sync, proven."""
    rig.configure(**SHORT)
    rig.open_page()
    shorten_alarm(rig)
    prove(rig)
    return rig


@pytest.mark.corpus(seed=14, conversations=4, messages=120)
def test_a_new_store_is_filled_from_the_extensions(rig: Rig) -> None:
    """OT-51: `welcome` names another store, so nothing that was confirmed counts."""
    wait_until(
        lambda: contacts(rig) == rig.page.ledger.profiles().keys(),
        40,
        "the contacts in the first store",
        every=0.3,
    )
    frames = len(rig.proxy.seen())
    rig.server.kill()
    remove(Path(rig.server.database))
    rig.server.start()
    rig.binding = rig.server.create_binding([rig.page.corpus.account])
    rig.configure()
    prove(rig, frames_from=frames)
    wait_until(
        lambda: contacts(rig) == rig.page.ledger.profiles().keys(),
        40,
        "the contacts in it, too",
        every=0.3,
    )
    assert not list(early_anchors(rig.proxy.seen()[frames:], rig.page.ledger))
    stores = {(frame.body or {})["storeId"] for frame in rig.proxy.seen("welcome")}
    assert len(stores) == 2


@pytest.mark.corpus(seed=15, conversations=4, messages=120)
def test_a_restored_back_up_gets_what_it_misses(rig: Rig, tmp_path: Path) -> None:
    """The same store, older: its anchors tell what it does not have any more."""
    backup = tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(rig.server.database)) as source:
        source.execute("VACUUM INTO ?", (str(backup),))
    chats = rig.page.corpus.conversations
    for n in range(16):
        rig.page.post_live(chats[n % 4].conversation_id, f"after the back-up {n}")
    prove(rig)

    rig.server.kill()
    remove(Path(rig.server.database))
    shutil.copy(backup, rig.server.database)
    frames = len(rig.proxy.seen())
    rig.server.start()
    wait_until(
        lambda: len(rig.server.dump().messages) == 136,
        60,
        "the store to be whole again",
        every=0.5,
    )
    prove(rig, frames_from=frames)


def test_what_no_server_can_take_is_parked_and_blocks_nothing(rig: Rig) -> None:
    """MS, OT-06: rejected with its reason, while what follows is confirmed."""
    chat = rig.page.corpus.conversations[0].conversation_id
    huge = rig.page.post_live(chat, "x" * 400_000)
    after = rig.page.post_live(chat, "said after something huge")

    def statuses() -> dict[str, tuple[str, str | None]]:
        rows = rig.extension_store().records(CANDIDATES)
        return {row["messageId"]: (row["status"], row.get("code")) for row in rows}

    wait_until(
        lambda: statuses().get(after.message_id) == ("confirmed", None),
        40,
        "what follows to be confirmed",
        every=0.2,
    )
    assert statuses()[huge.message_id] == ("rejected", "too_large")
    assert set(statuses().values()) == {("confirmed", None), ("rejected", "too_large")}


def contacts(rig: Rig) -> set[str]:
    """The conversations whose contact's profile Bright has."""
    return {row["conversationId"] for row in rig.server.dump().of("contactProfile")}


def remove(database: Path) -> None:
    """Take a database away with its log."""
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink(missing_ok=True)  # a killed server's writer may be taking its log
