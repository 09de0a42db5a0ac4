"""A scoped read counts only when it gives the same everywhere. No figure is judged."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.children import Child, module
from benchmarks.errors import MiscountError
from benchmarks.scoped.rounds import (
    ReadRound,
    Same,
    ScopedResult,
    WriteRound,
    written,
)
from benchmarks.scoped.work import READS, ScopedWork

SMALL = ScopedWork(pending=10, others=40, repeats=2, batches=3, batch_messages=4)


def answers(digest: str = "first") -> dict[str, dict[str, Any]]:
    return {
        read: {"found": SMALL.found(read), "verbDigest": digest, "bareDigest": digest}
        for read in READS
    }


def a_round(alone: float, among: float, bare: float = 1) -> ReadRound:
    return ReadRound(
        verb={read: {"alone": alone, "among": among} for read in READS},
        bare={read: {"alone": bare, "among": bare} for read in READS},
    )


def test_the_model_finds_the_account_alone_and_among_others(tmp_path: Path) -> None:
    same = Same(SMALL)
    command = module("benchmarks.scoped.in_model")
    with Child(command, SMALL.to_plan(), tmp_path) as child:
        child.hear(60)
        for _ in range(2):
            child.tell("round")
            report = child.hear(60)
            assert set(report) == {"alone", "among"}
            for where, given in report.items():
                assert set(given) == set(READS)
                same.check(where, given)


def test_a_read_that_gives_too_many_is_no_figure() -> None:
    given = answers()
    given["listPendingCards"]["found"] += 1
    with pytest.raises(MiscountError, match="listPendingCards there gives 11"):
        Same(SMALL).check("there", given)


@pytest.mark.parametrize("kind", ["verbDigest", "bareDigest"])
def test_other_records_than_the_first_gave_are_no_figure(kind: str) -> None:
    same = Same(SMALL)
    same.check("here", answers())
    given = answers()
    given["nextPending"][kind] = "another"
    with pytest.raises(MiscountError, match="not the same"):
        same.check("there", given)


def test_a_write_counts_what_it_left() -> None:
    left = {"verbSeconds": 2.0, "bareSeconds": 1.0, "verbDigest": "a"}
    good = {**left, "bareDigest": "a", "records": 27}
    assert written(SMALL, good) == WriteRound(27, 2.0, 1.0)
    with pytest.raises(MiscountError, match="26 records written, not 27"):
        written(SMALL, {**good, "records": 26})
    with pytest.raises(MiscountError, match="other records"):
        written(SMALL, {**good, "bareDigest": "b"})


def test_ratios_are_ratios_of_medians() -> None:
    result = ScopedResult(
        browser=(a_round(1, 2), a_round(2, 3, bare=2), a_round(9, 4, bare=2)),
        model=(a_round(1, 1), a_round(1, 1), a_round(1, 1)),
        writes=(WriteRound(100, 2.0, 1.0), WriteRound(100, 4.0, 2.0)),
        chromium="156",
        others_share=0,
    )
    assert result.ratio("browser", "nextPending") == 1.5
    assert result.ratio("model", "nextPending") == 1
    assert result.highest_ratio() == 1.5
    assert result.of_bare("nextPending") == 1.5
    assert result.write_ratio == 0.5
