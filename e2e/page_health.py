"""What is wrong with pages, as the popup and an operator are told it."""

from __future__ import annotations

import json
import shutil
import urllib.request
from pathlib import Path
from typing import Any

from e2e.operators import CREDENTIAL
from extension_harness.errors import WaitTimeoutError
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import Rig
from extension_harness.tab import Page
from extension_harness.waiting import wait_until

POPUP = "pages/popup.html"
PATIENCE = "const PATIENCE_MS = 20_000;"
ROWS = """Array.from(document.querySelectorAll("#pages li"), (row) => ({
  account: row.dataset.account,
  troubles: row.dataset.troubles.split(" ").filter(Boolean),
  mood: row.dataset.mood,
  words: row.querySelector(".quiet").textContent,
}))"""
_PATIENCE_SECONDS = 30.0


def impatient(folder: Path, milliseconds: int = 1_500) -> Path:
    """Copy the extension; its pages count as troubled sooner than after 20 s."""
    copy = folder / "impatient"
    shutil.copytree(OWN_EXTENSION, copy)
    condition = copy / "page/adapters/condition.js"
    before = condition.read_text("utf-8")
    assert before.count(PATIENCE) == 1
    after = before.replace(PATIENCE, f"const PATIENCE_MS = {milliseconds};")
    condition.write_text(after.replace("LOOK_MS = 2_000", "LOOK_MS = 200"), "utf-8")
    return copy


def popup_pages(popup: Page) -> list[dict[str, Any]]:
    """The pages that the popup shows."""
    rows: list[dict[str, Any]] = popup.evaluate(ROWS)
    return rows


def operator_pages(rig: Rig) -> list[dict[str, Any]]:
    """The pages that Bright tells an operator of."""
    asked = urllib.request.Request(  # noqa: S310 - Bright, on this machine
        f"{rig.server.http_url}/v1/pages",
        headers={"Authorization": f"Bearer {CREDENTIAL}"},
    )
    with urllib.request.urlopen(asked, timeout=_PATIENCE_SECONDS) as answer:  # noqa: S310
        pages: list[dict[str, Any]] = json.load(answer)["pages"]
    return pages


def operator_troubles(rig: Rig) -> list[set[str]]:
    """What is wrong with each page that Bright tells an operator of."""
    return [{each["code"] for each in page["troubles"]} for page in operator_pages(rig)]


def wait_for_troubles(
    rig: Rig, popup: Page, *troubles: str, seconds: float = 60
) -> str:
    """Wait until exactly these are named for the one page that is open; in both views.

    Gives the popup's words.
    """
    wanted = set(troubles)
    last: list[dict[str, Any]] = []

    def named() -> str | None:
        last[:] = popup_pages(popup)
        if len(last) != 1 or set(last[0]["troubles"]) != wanted:
            return None
        return str(last[0]["words"])

    try:
        words = wait_until(named, seconds, f"{sorted(wanted)} in the popup")
    except WaitTimeoutError as late:
        raise WaitTimeoutError(late.what, seconds, str(last)) from late
    seen: list[object] = []

    def told() -> bool:
        seen[:] = operator_troubles(rig)
        return seen == [wanted]

    try:
        wait_until(told, seconds, f"{sorted(wanted)} at the server", every=0.3)
    except WaitTimeoutError as late:
        raise WaitTimeoutError(late.what, seconds, str(seen)) from late
    return words


def wait_for_account(popup: Page, account: str, seconds: float = 60) -> dict[str, Any]:
    """Wait until the popup shows a page of this account, and give its row."""
    last: list[dict[str, Any]] = []

    def shown() -> dict[str, Any] | None:
        last[:] = popup_pages(popup)
        return next((row for row in last if row["account"] == account), None)

    try:
        return wait_until(shown, seconds, f"a page of {account} in the popup")
    except WaitTimeoutError as late:
        raise WaitTimeoutError(late.what, seconds, str(last)) from late
