"""M06: a page that shows its newest rows for ever, and what stands beside it."""

from __future__ import annotations

from collections import Counter

import pytest

from e2e.proof import verdict_of
from e2e.rigs import SHORT
from extension_harness.rig import ANOMALIES, CHECKPOINTS, Rig
from extension_harness.waiting import wait_until

STUCK = "history_cursor_stuck"


@pytest.mark.corpus(seed=61, conversations=4, messages=120)
def test_a_stuck_history_is_said_claims_nothing_and_goes_on_once_it_moves(
    rig: Rig,
) -> None:
    """OT-43, M06: no anchor over a history that was not read to its end."""
    lengths = Counter(row.conversation_id for row in rig.page.corpus.messages())
    [(stuck, _)] = lengths.most_common(1)
    rig.page.switches.set(cursor_stuck=[stuck])
    # A page that stands still is widened up to the bound; it must not hold everything.
    # What moves it again is activity, which the next reading of the list tells.
    sizes = {"historyPageSize": 5, "historyMaxPageSize": 40, "listRefreshMs": 1_000}
    rig.configure(**SHORT, **sizes)
    rig.open_page()

    wait_until(lambda: others_are_completed(rig, stuck), 60, "the others", every=0.25)

    assert not checkpoints(rig)[stuck]["historyComplete"]
    noted = rig.extension_store().records(ANOMALIES)
    assert stuck in {row["conversationId"] for row in noted if row["code"] == STUCK}
    assert stuck not in {
        row["conversationId"] for row in rig.server.dump().of("anchor")
    }

    rig.page.switches.set(cursor_stuck=[])
    rig.page.post_live(stuck, "the page moves again")
    wait_until(lambda: agrees_but_for_the_note(rig), 60, "all of it", every=0.5)


def checkpoints(rig: Rig) -> dict[str, dict[str, object]]:
    rows = rig.extension_store().records(CHECKPOINTS)
    return {row["conversationId"]: row for row in rows}


def others_are_completed(rig: Rig, stuck: str) -> bool:
    found = checkpoints(rig)
    return (
        len(found) == len(rig.page.corpus.conversations)
        and found[stuck]["result"] == STUCK
        and {row["phase"] for name, row in found.items() if name != stuck}
        == {"completed"}
    )


def agrees_but_for_the_note(rig: Rig) -> bool:
    """The ledger knows nothing of a page that stood still; all else must agree."""
    verdict = verdict_of(rig)
    return (
        verdict.server.equal
        and verdict.extension.equal
        and not verdict.faults
        and not verdict.anomalies.missing
        and {row["code"] for row in verdict.anomalies.unexpected} == {STUCK}
    )
