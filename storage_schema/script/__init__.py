"""Replays op-scripts, the format of ``idb-vectors/1``, against the model.

``python -m storage_schema.script FILE…`` says how many vectors of each file come out as
written; ``replay`` gives a program the outcomes of one script.
"""

from storage_schema.script.steps import replay
from storage_schema.tagged.comparing import difference_of

__all__ = ["difference_of", "replay"]
