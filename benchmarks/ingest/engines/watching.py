"""What a database's own server takes while a contender does a round."""

import dataclasses
from collections.abc import Callable

from benchmarks.ingest.figures import Round
from benchmarks.ingest.workload import Workload


def watched(
    workload: Workload,
    do: Callable[[], Round],
    cpu_seconds: Callable[[], float | None],
    log_bytes: Callable[[], int | None],
) -> Round:
    """Return a round with what the server took meanwhile, Bright's start included.

    None stands for what the server does not tell; of a log that was shortened
    meanwhile, too.
    """
    cpu, log = cpu_seconds(), log_bytes()
    done = do()
    took, wrote = _grown(cpu, cpu_seconds()), _grown(log, log_bytes())
    return dataclasses.replace(
        done,
        engine_cpu_seconds=took,
        log_bytes_per_message=None if wrote is None else wrote / workload.new,
    )


def _grown(before: float | None, after: float | None) -> float | None:
    if before is None or after is None or after < before:
        return None
    return after - before
