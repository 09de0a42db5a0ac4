"""Older builds of this repository's extension, derived from it.

A build of version 8 or 9 is the shipped extension with its store's version lowered and
the steps above it cut. Of what came before, what counts is the database alone: an inert
build has the same id and permissions, a worker that does nothing, and no pages.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from extension_harness.plugin import OWN_EXTENSION

WORKER = "nothing.js"
STEPS = "store/steps.js"
VERSION = re.compile(r"(export const DATABASE_VERSION = )(\d+);")
STEP = re.compile(r"\{\s*to:\s*(\d+),[^{}]*\},?")


def old_build(folder: Path, version: int) -> Path:
    """Make the shipped extension as it was at this version of the store, 7 or later."""
    shutil.copytree(OWN_EXTENSION, folder)
    _as_version(folder, f"0.0.{version}")
    path = folder / STEPS
    text = path.read_text("utf-8")
    found = VERSION.search(text)
    assert found is not None, f"{STEPS} names no version"
    steps = {int(number) for number in STEP.findall(text)}
    assert {version, int(found[2])} <= steps, f"{STEPS} has the steps {steps}"
    text = VERSION.sub(rf"\g<1>{version};", text)
    text = STEP.sub(lambda step: step[0] if int(step[1]) <= version else "", text)
    assert max(map(int, STEP.findall(text))) == version
    path.write_text(text, "utf-8")
    return folder


def inert_build(folder: Path, number: int = 1) -> Path:
    """Make an extension of the same id that never opens a database."""
    folder.mkdir()
    shutil.copy(OWN_EXTENSION / "manifest.json", folder)
    shutil.copytree(OWN_EXTENSION / "_locales", folder / "_locales")
    _as_version(folder, f"0.0.{number}", background={"service_worker": WORKER})
    (folder / WORKER).write_text("// Nothing.\n", "utf-8")
    return folder


def _as_version(folder: Path, version: str, **manifest: object) -> None:
    path = folder / "manifest.json"
    told = {**json.loads(path.read_text("utf-8")), "version": version, **manifest}
    if manifest:
        for name in ("icons", "action", "options_ui", "content_scripts"):
            told.pop(name, None)
    path.write_text(json.dumps(told), "utf-8")
