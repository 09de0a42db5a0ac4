"""The warning that a machine was not quiet, worded once."""

from rich.console import Console

_QUIET_SHARE = 0.1


def warn_of_others(console: Console, share: float) -> None:
    """Warn when other programs took more than a tenth of the CPUs meanwhile."""
    if share > _QUIET_SHARE:
        console.print(
            f"[yellow]Other programs took {share:.0%} of the CPUs meanwhile: repeat"
            " this on a quiet machine before you believe a figure."
        )
