"""Everything that a benchmark can fail with.

BenchError
├── WorkloadError       the asked-for shape of the work is impossible
├── ChildError          a process of the run died, fell silent or spoke nonsense
└── MiscountError       the work was not done as it was asked for: no figure is valid
"""


class BenchError(Exception):
    """Base of all errors of the benchmarks."""


class WorkloadError(BenchError):
    """The asked-for shape of the work is impossible; the text says what to change."""


class ChildError(BenchError):
    """A process of the run died, fell silent or answered something unexpected."""


class MiscountError(BenchError):
    """Counts differ from the plan, so a rate over them would be a lie."""
