"""Replays op-scripts, the format of ``idb-vectors/1``, against the model.

``python -m storage_schema.script FILE…`` says how many vectors of each file come out as
written; ``replay`` gives a program the outcomes of one script.
"""

from storage_schema.script.comparing import difference_of
from storage_schema.script.steps import replay

__all__ = ["difference_of", "replay"]
