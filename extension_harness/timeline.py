"""What happened, in order, on one clock: the first thing to read after a failed test.

Bounded: the oldest events leave first and their number is kept. Safe to record into
from any thread. Fields are facts about events (names, sizes, ids), never contents.
"""

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Fact = str | int | float | bool | None


@dataclass(frozen=True)
class Event:
    """One thing that happened, ``at`` seconds after the timeline began."""

    at: float
    kind: str
    facts: Mapping[str, Fact]


class Timeline:
    """A bounded record of events; ``clock`` gives monotonic seconds."""

    def __init__(
        self, limit: int = 50_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._began = clock()
        self._events: deque[Event] = deque(maxlen=limit)
        self._recorded = 0
        self._lock = threading.Lock()

    def record(self, kind: str, **facts: Fact) -> Event:
        """Add an event now."""
        with self._lock:
            event = Event(round(self._clock() - self._began, 4), kind, facts)
            self._events.append(event)
            self._recorded += 1
        return event

    def events(self, kind: str | None = None) -> tuple[Event, ...]:
        """What is kept, oldest first; of one kind when it is named."""
        with self._lock:
            kept = tuple(self._events)
        return tuple(event for event in kept if kind in (None, event.kind))

    @property
    def dropped(self) -> int:
        """How many events were recorded and are no longer kept."""
        with self._lock:
            return self._recorded - len(self._events)

    def counts(self) -> Mapping[str, int]:
        """How many events of each kind are kept."""
        return Counter(event.kind for event in self.events())

    def write(self, path: Path) -> Path:
        """Write one JSON object a line, and first the number of events dropped."""
        lines = [json.dumps({"at": 0, "kind": "timeline", "dropped": self.dropped})]
        lines += [
            json.dumps({"at": event.at, "kind": event.kind, **event.facts})
            for event in self.events()
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path
