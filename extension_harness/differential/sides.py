"""Two sides that run the same cases, and what is made of a seed for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from extension_harness.differential import histories, scripts
from extension_harness.differential.browser_side import BrowserSide
from extension_harness.differential.comparing import Difference, first_difference
from extension_harness.differential.forms import Outcome
from extension_harness.differential.model_side import ModelSide

Run: TypeAlias = Callable[[Sequence[Any]], Sequence[Outcome]]


@dataclass(frozen=True)
class Sides:
    """A kind of case with its generator and the two that run it."""

    kind: str
    generate: Callable[[int], Any]
    browser: Run
    model: Run

    def run_both(self, cases: Sequence[Any]) -> list[tuple[Outcome, Outcome]]:
        """Each case's outcomes; the browser works while the model does."""
        with ThreadPoolExecutor(1) as beside:
            asked = beside.submit(self.browser, cases)
            model = self.model(cases)
            return list(zip(asked.result(), model, strict=True))

    def differences(self, cases: Sequence[Any]) -> list[Difference | None]:
        """The first difference of each case."""
        return [first_difference(*outcomes) for outcomes in self.run_both(cases)]


def script_sides(browser: BrowserSide, model: ModelSide) -> Sides:
    """Generic op-scripts."""
    return Sides("script", scripts.generate, browser.run_scripts, model.run_scripts)


def history_sides(browser: BrowserSide, model: ModelSide) -> Sides:
    """Histories of the OneTalk store."""
    run = model.run_histories
    return Sides("history", histories.generate, browser.run_histories, run)
