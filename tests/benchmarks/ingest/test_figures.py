"""Figures are computed as they are named."""

import pytest

from benchmarks.ingest.figures import Round, median_of, percentile
from benchmarks.ingest.rounds import IngestResult


def a_round(seconds: float, resident_bytes: int | None = None) -> Round:
    return Round(
        messages=1000,
        seconds=seconds,
        p50_ms=1,
        p99_ms=2,
        cpu_seconds=0.5,
        resident_bytes=resident_bytes,
    )


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(one) for one in range(1, 101)]
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.99) == 99
    assert percentile([7.0], 0.99) == 7


def test_a_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_rates_and_cpu_are_per_message() -> None:
    one = a_round(seconds=0.5)
    assert one.per_second == 2000
    assert one.cpu_seconds_per_100k == 50


def test_the_ratio_is_one_of_medians() -> None:
    slow = tuple(a_round(seconds) for seconds in (1.0, 4.0, 2.0))
    fast = tuple(a_round(seconds) for seconds in (1.0, 0.5, 9.0))
    result = IngestResult(bright=slow, sqlite=fast, numbering=slow, websocket=fast)
    assert median_of(slow, "per_second") == 500
    assert result.ratio_to_sqlite == 0.5
    assert result.ratio_to_numbering == 1


@pytest.mark.parametrize(
    ("used", "flat"),
    [
        ([50, 80, 80, 81, 80, 82, 80, 81, 80, 82], True),
        ([80, 90, 100, 110, 120, 130, 140, 150, 160, 170], False),
    ],
)
def test_memory_is_flat_when_later_rounds_use_what_early_ones_used(
    used: list[int], flat: bool
) -> None:
    rounds = tuple(a_round(1, resident_bytes=one) for one in used)
    result = IngestResult(
        bright=rounds, sqlite=rounds, numbering=rounds, websocket=rounds
    )
    assert result.memory_is_flat is flat
