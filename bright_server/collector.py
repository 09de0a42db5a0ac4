"""How Python's garbage collector is set in a process that serves."""

from __future__ import annotations

import gc


def ease_garbage_collection() -> None:
    """Look for garbage cycles less often, and never again at what is here now.

    Messages come by the hundred thousand and go without a cycle; at Python's defaults
    the collector's looking at them costs a quarter of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
