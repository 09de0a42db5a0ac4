"""The demo on a terminal: progress while it runs, a table at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from extension_harness.demo.progress import Progress
from extension_harness.demo.run import Summary
from extension_harness.demo.stage import Stage
from extension_harness.oracle.verdict import Verdict


@contextlib.contextmanager
def bars(stage: Stage, console: Console) -> Iterator[Callable[[Progress], None]]:
    """Show two bars, messages and conversations, while the block runs."""
    with Bars(
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    ) as shown:
        messages = shown.add_task("messages confirmed", total=None)
        conversations = shown.add_task("conversations completed", total=None)

        def show(progress: Progress) -> None:
            expected = len(stage.page.ledger.expected())
            shown.update(messages, total=expected, completed=progress.confirmed)
            shown.update(
                conversations,
                total=len(stage.page.corpus.conversations),
                completed=progress.completed,
            )

        yield show


def table(summary: Summary, verdict: Verdict, console: Console) -> None:
    """Print the result, and every fault in words if there is one."""
    result = Table(title="Bright's store against the page's ledger", min_width=52)
    result.add_column("what")
    result.add_column("count", justify="right")
    for name, value in (
        ("conversations completed", summary.conversations),
        ("messages in the ledger", summary.ledger_messages),
        ("messages confirmed", summary.confirmed),
        ("anomalies, as expected", summary.anomalies),
        ("missing", summary.missing),
        ("duplicates", summary.duplicates),
        ("seconds", summary.seconds),
    ):
        result.add_row(name, str(value))
    console.print(result)
    if summary.holds:
        console.print("[green]Ledger and both stores agree, record by record.[/green]")
    else:
        console.print(Panel(verdict.as_text(), title="They do not agree", style="red"))


def addresses(stage: Stage, console: Console) -> None:
    """Print where to look while the demo stays."""
    popup = f"chrome-extension://{stage.browser.extension_id}/pages/popup.html"
    seen = "" if stage.plan.headless else f"\npopup, in the browser  {popup}"
    console.print(
        Panel(
            f"the simulated page   {stage.page.local_url}\n"
            f"its control address  {stage.page.control_url}/status\n"
            f"Bright, health       {stage.bright.http_url}/readyz\n"
            f"Bright, metrics      {stage.bright.http_url}/metrics\n"
            f"Bright's database    {stage.bright.database}{seen}",
            title="Where to look; Ctrl-C ends the demo",
        )
    )
