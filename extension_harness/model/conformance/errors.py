"""Where the model and the real extension part.

ModelError
└── DivergenceError  what one of them did and the other did not
"""

from __future__ import annotations

from extension_harness.model.errors import ModelError


class DivergenceError(ModelError):
    """What the model did otherwise; `life` and `turn` count from 0."""

    def __init__(self, what: str, life: int, turn: int, came: str) -> None:
        super().__init__(f"life {life}, turn {turn} ({came}): {what}")
        self.life = life
        self.turn = turn
