"""What a bare writer does as a child process: prepare, wait for the word, report."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from benchmarks.ingest.figures import percentile
from benchmarks.ingest.workload import Batch, Workload

Group = TypeVar("Group")


def batches_in_turns(workload: Workload) -> list[Batch]:
    """All batches of a round, as if one of every connection came in at once."""
    turns = zip(
        *(workload.of_connection(client) for client in range(workload.connections)),
        strict=True,
    )
    return [batch for turn in turns for batch in turn]


def write_all(
    workload: Workload, groups: Iterable[Group], write: Callable[[Group], int]
) -> None:
    """Say ready, wait for the word, write everything, report.

    `write` commits one prepared group and returns how many of its messages were new.
    """
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    ended, new, latencies = began, 0, []
    for group in groups:
        new += write(group)
        started, ended = ended, time.perf_counter()
        latencies.append(ended - started)
    report = {
        "seconds": ended - began,
        "p50Ms": percentile(latencies, 0.5) * 1000,
        "p99Ms": percentile(latencies, 0.99) * 1000,
        "confirmed": workload.sent,
        "duplicates": workload.sent - new,
        "otherwise": 0,
    }
    print(json.dumps(report), flush=True)
    sys.stdin.readline()  # stay until measured


def main(run: Callable[[dict[str, Any]], None], failures: type[Exception]) -> None:
    """Run as a child: the configuration comes as the first line of standard input."""
    try:
        run(json.loads(sys.stdin.readline()))
    except failures as failure:
        print(json.dumps({"error": f"{type(failure).__name__}: {failure}"}), flush=True)
