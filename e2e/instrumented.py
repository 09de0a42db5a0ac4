"""This repository's extension with one script before its worker's own.

Nothing is attached and no file of the extension is changed: the copy has one module
more, which runs first and wraps what a test wants to watch or to slow down.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from extension_harness.browser import Browser
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.storage import ExtensionStorage

ENTRY = "instrumented-worker.js"
TRIPWIRE = Path(__file__).with_name("tripwire.js")


def instrumented(folder: Path, script: str, *, without: Sequence[str] = ()) -> Path:
    """Copy the extension below ``folder`` with ``script`` before its worker.

    ``without`` takes permissions away from the copy.
    """
    copy = folder / "extension"
    shutil.copytree(OWN_EXTENSION, copy)
    manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
    own = manifest["background"]["service_worker"]
    manifest["background"]["service_worker"] = ENTRY
    manifest["permissions"] = [
        each for each in manifest["permissions"] if each not in without
    ]
    (copy / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (copy / "instrument.js").write_text(script, "utf-8")
    # Modules run in the order of their imports.
    entry = f'import "./instrument.js";\nimport "./{own}";\n'
    (copy / ENTRY).write_text(entry, "utf-8")
    return copy


def tripwired(folder: Path) -> Path:
    """Copy the extension below ``folder``, with a wire that unbounded reads trip.

    Its own pages come under the wire with ``await import("/instrument.js")``.
    """
    return instrumented(folder, TRIPWIRE.read_text("utf-8"))


def trips(browser: Browser) -> list[str]:
    """What was tried without a bound, by any worker of this profile so far."""
    kept = ExtensionStorage(browser).get()
    return [str(value) for key, value in kept.items() if key.startswith("tripped ")]
