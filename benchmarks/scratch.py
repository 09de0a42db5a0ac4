"""A folder for the files of one run."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.errors import WorkloadError


@contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """A folder for the files of one run, gone afterwards.

    It is made where the caller says and not in the system's temporary folder, which may
    be memory, where writing durably costs nothing and measures nothing.

    Raises WorkloadError when nothing can be made there.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=directory, prefix="run-")).resolve()
    except OSError as cause:
        raise WorkloadError(f"no files of a run in {directory}: {cause}") from cause
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
