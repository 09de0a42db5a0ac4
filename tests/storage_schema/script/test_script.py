"""The op-script command: the vectors that a real Chromium recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from storage_schema.script.__main__ import main

VECTORS = Path(__file__).parents[1] / "vectors"
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.json")), ids=lambda p: p.stem)
def test_the_model_does_what_chromium_did(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All vectors, those included in which Chromium departs from the W3C text."""
    code = main([str(path)])

    told = capsys.readouterr().out
    vectors = json.loads(path.read_text())["vectors"]
    quirks = sum("quirk" in vector for vector in vectors)
    plain = len(vectors) - quirks
    apart = f", quirks {quirks}/{quirks}" if quirks else ""
    assert told == f"{path.name}: {plain}/{plain}{apart}\n"
    assert code == 0


def changed(path: Path, tmp_path: Path, **members: str) -> str:
    """A copy of a vector file with one record more in the first dump."""
    whole = json.loads(path.read_text())
    vector = {**whole["vectors"][0], **members}
    vector["dump"]["main"]["stores"][0]["records"].append([99, "never put"])
    copy = tmp_path / "changed.json"
    copy.write_text(json.dumps({**whole, "vectors": [vector, *whole["vectors"][1:]]}))
    return str(copy)


def test_a_difference_is_shown_with_its_place_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([changed(VECTORS / "cursors.json", tmp_path)])

    told = capsys.readouterr().out
    assert code == 1
    assert "changed.json: 38/39" in told
    assert "cu01 (the four directions over a store) dump.main.stores[0].records" in told


def test_a_quirk_that_differs_does_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([changed(VECTORS / "cursors.json", tmp_path, quirk="of this browser")])

    assert code == 0
    assert "38/38, quirks 1/2" in capsys.readouterr().out


def test_a_file_that_is_none_is_told_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text("[]")

    assert main([str(odd), str(tmp_path / "missing.json")]) == 2
    assert capsys.readouterr().out.count("not a file of vectors") == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{nope", "not JSON"),
        ("[" * 100_000, "too deep"),
        ('{"vectors": 5}', 'no object with a list "vectors"'),
        ('{"vectors": [], "format": "idb-vectors/2"}', "idb-vectors/2"),
        ('{"vectors": [5]}', "vector number 0 has no 'script'"),
        ('{"vectors": [{"script": [], "expect": []}]}', "no 'dump'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_words(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text(text)

    assert main([str(odd)]) == 2
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "step", [5, {}, {"do": "cmp"}, {"do": "open", "upgrade": [{}]}, {"do": "range"}]
)
def test_a_step_that_is_none_fails_its_vector_even_if_that_is_a_quirk(
    step: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    vector = {"id": "x", "script": [step], "expect": [], "dump": {}, "quirk": "none"}
    odd.write_text(json.dumps({"vectors": [vector]}))

    assert main([str(odd)]) == 1
    assert "step number 0 is not in the form of scripts" in capsys.readouterr().out


def test_a_script_outside_the_format_is_a_failed_vector(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    vector = {
        "id": "x",
        "title": "",
        "script": [{"do": "dance"}],
        "expect": [],
        "dump": {},
    }
    odd.write_text(json.dumps({"vectors": [vector]}))

    assert main([str(odd)]) == 1
    assert "unknown step 'dance'" in capsys.readouterr().out


def test_the_command_runs_over_several_files() -> None:
    files = [str(VECTORS / name) for name in ("ranges.json", "upgrade.json")]
    ran = subprocess.run(
        [sys.executable, "-m", "storage_schema.script", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert ran.stdout.splitlines() == [
        "ranges.json: 24/24",
        "upgrade.json: 28/28, quirks 1/1",
    ]
