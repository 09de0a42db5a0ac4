"""The timeline keeps the last events in order and forgets by the book."""

import json
from pathlib import Path

from extension_harness.timeline import Timeline


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_events_are_kept_in_order_with_the_time_since_the_beginning() -> None:
    clock = Clock()
    timeline = Timeline(clock=clock)
    timeline.record("start", pid=1)
    clock.now += 1.5
    timeline.record("end")
    assert [(event.at, event.kind) for event in timeline.events()] == [
        (0.0, "start"),
        (1.5, "end"),
    ]
    assert timeline.events("start")[0].facts == {"pid": 1}


def test_the_oldest_leave_first_and_are_counted() -> None:
    timeline = Timeline(limit=2)
    for number in range(5):
        timeline.record("event", number=number)
    assert [event.facts["number"] for event in timeline.events()] == [3, 4]
    assert timeline.dropped == 3
    assert timeline.counts() == {"event": 2}


def test_it_is_written_as_json_lines(tmp_path: Path) -> None:
    timeline = Timeline(limit=1)
    timeline.record("gone")
    timeline.record("kept", what="ü")
    lines = timeline.write(tmp_path / "timeline.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["timeline", "kept"]
    assert json.loads(lines[0])["dropped"] == 1
