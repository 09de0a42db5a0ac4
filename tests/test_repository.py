"""The repository's own rules: what a reader may rely on anywhere in it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = {".py", ".js", ".sql", ".css", ".html"}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc"}
# Put together here so that this file does not contain what it looks for.
REGISTRIES = re.compile(
    "|".join(
        (r"py" + r"pi\.org", r"python" + r"hosted\.org", r"npm" + r"js\.(org|com)")
    )
)


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git is a requirement
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_of_code_is_longer_than_400_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in tracked()
        if path.suffix in CODE and (count := text_of(path).count("\n")) > 400
    }

    assert long == {}


def test_no_module_is_named_after_nothing() -> None:
    vague = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix in {".py", ".js"} and path.stem in FORBIDDEN_NAMES
    ]

    assert vague == []


def test_no_file_names_a_package_registry_or_a_machine_path() -> None:
    machine = "/" + "work/main"
    guilty = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if REGISTRIES.search(text := text_of(path)) or machine in text
    ]

    assert guilty == []


def test_every_link_between_documents_leads_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)} -> {target}"
        for path in tracked()
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(path))
        if not (path.parent / target).exists()
    ]

    assert broken == []


@pytest.mark.parametrize(
    "verb",
    ["setup", "demo", "test", "check", "test-fast", "e2e", "serve", "bench", "help"],
)
def test_make_has_the_verb(verb: str) -> None:
    assert re.search(
        rf"^{verb}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE
    ), f"make {verb} is promised by the README"


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = sorted(
        int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("*.md")
    )

    assert numbers == list(range(1, len(numbers) + 1))


def test_every_package_lock_is_free_of_addresses() -> None:
    for name in ("requirements.lock", "extension_harness/package-lock.json"):
        addresses = re.findall(
            r"https?://(?!github\.com|opencollective|tidelift|eslint|www\.patreon)\S+",
            (ROOT / name).read_text(),
        )
        resolved = '"resolved"' in (ROOT / name).read_text()

        assert (addresses, resolved) == ([], False), name
