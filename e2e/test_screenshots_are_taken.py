"""Pictures of popup and options page, light and dark, for a person to look at.

They go to the folder that `BRIGHT_SCREENSHOTS` names; without it, to the test's own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e.proof import prove, prove_listed
from e2e.rigs import SHORT, shorten_alarm
from extension_harness.rig import Rig
from extension_harness.tab import Page

PNG = b"\x89PNG"
POPUP_WIDTH, OPTIONS_SIZE = 380, (900, 620)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("BRIGHT_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shoot(page: Page, folder: Path, name: str) -> None:
    """Both schemes; they must differ, and nothing may stick out sideways."""
    taken = []
    for scheme in ("light", "dark"):
        page.prefer_color_scheme(scheme)
        path = page.screenshot(folder / f"{name}-{scheme}.png")
        taken.append(path.read_bytes())
    assert all(each.startswith(PNG) for each in taken)
    assert taken[0] != taken[1], f"{name} is the same in light and dark"
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide), f"{name} is wider than its window"


def fit_popup(popup: Page) -> None:
    """The window that a browser gives a popup: as tall as it is, at most 600."""
    height = popup.evaluate("Math.min(600, document.body.offsetHeight)")
    popup.resize(POPUP_WIDTH, height)


@pytest.mark.corpus(seed=81, conversations=12, messages=300)
def test_popup_and_options_in_light_and_dark(rig: Rig, pictures: Path) -> None:
    rig.configure(**SHORT)
    shorten_alarm(rig)
    with rig.browser.extension_page("pages/popup.html") as popup:
        popup.resize(POPUP_WIDTH, 600)
        popup.wait_for("document.getElementById('state-name').textContent")
        fit_popup(popup)
        shoot(popup, pictures, "popup-new")
        held = rig.proxy.hold("observation.ack", nth=5, count=100_000)
        rig.browser.open(rig.page.url)
        held_one = "Array.from(document.querySelectorAll('#conversations li')).some("
        popup.wait_for(f"{held_one}(row) => row.dataset.mood === 'good')", timeout=60)
        fit_popup(popup)
        shoot(popup, pictures, "popup-syncing")
        held.release()
        prove_listed(rig)
        popup.wait_for("document.getElementById('pending').textContent === '0'")
        fit_popup(popup)
        shoot(popup, pictures, "popup-complete")
        rig.proxy.refuse()
        rig.proxy.cut()
        for n in range(9):
            rig.page.post_live(text=f"while it is away {n}")
        popup.wait_for("document.getElementById('pending').textContent === '9'")
        fit_popup(popup)
        shoot(popup, pictures, "popup-away")
    rig.proxy.accept()
    with rig.browser.extension_page("pages/options.html") as options:
        options.resize(*OPTIONS_SIZE)
        options.wait_for("document.getElementById('save').textContent !== ''")
        options.fill("#binding-token", "nobody's")
        options.click("#save")
        options.wait_for("document.getElementById('outcome').dataset.mood === 'bad'")
        shoot(options, pictures, "options-refused")
        options.fill("#binding-token", rig.binding.token)
        options.click("#save")
        options.wait_for("document.getElementById('outcome').dataset.mood === 'good'")
        shoot(options, pictures, "options-saved")
    prove(rig)
