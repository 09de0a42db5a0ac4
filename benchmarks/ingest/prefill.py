"""A database that already holds history, made by the bare writer.

Bright itself creates the file, so the schema is always the one that it ships.
"""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

from benchmarks.ingest.contenders import BareSqlite, create_database
from benchmarks.ingest.workload import Workload

_CHUNK_BATCHES = 50


def prefilled(
    database: Path, shape: Workload, rows: int, tell: Callable[[str], None]
) -> int:
    """Create a database with at least `rows` messages of this workload.

    Returns:
        The first batch that is not in it: a round with this `first_batch` goes on.

    Raises:
        BenchError: if the writer fails.
    """
    create_database(database)
    batches = math.ceil(rows / (shape.connections * shape.new_of_batch))
    writer = BareSqlite(database, database.parent)
    for first in range(0, batches, _CHUNK_BATCHES):
        count = min(_CHUNK_BATCHES, batches - first)
        part = dataclasses.replace(shape, first_batch=first, batches=count)
        writer.round(part)
        stored = (first + count) * shape.connections * shape.new_of_batch
        tell(f"stored {stored:,} of {rows:,} rows of history")
    return batches
