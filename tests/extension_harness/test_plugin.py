"""The pytest plugin: evidence of what failed, and no skipping without a browser."""

import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


def test_a_failed_test_names_the_folder_with_its_evidence(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_fails(timeline, evidence):
            timeline.record("something", number=1)
            assert False
        """
    )
    result = pytester.runpytest_subprocess("--evidence", str(pytester.path / "kept"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- evidence -*", "kept in *test_fails*"])
    (written,) = (pytester.path / "kept").glob("*/timeline.jsonl")
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert lines[1]["kind"] == "something"


def test_a_passed_test_leaves_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_passes(evidence): pass")
    result = pytester.runpytest_subprocess("--evidence", str(pytester.path / "kept"))
    result.assert_outcomes(passed=1)
    assert not (pytester.path / "kept").exists()


@pytest.mark.parametrize("fixture", ["browser", "worker", "storage", "chromium"])
def test_without_a_browser_a_test_is_an_error_and_not_skipped(
    pytester: pytest.Pytester, fixture: str
) -> None:
    pytester.makepyfile(f"def test_something({fixture}): pass")
    result = pytester.runpytest_subprocess("--chromium", "/nowhere/chromium")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*/nowhere/chromium cannot be used: *"])


@pytest.mark.parametrize(
    ("fixture", "missing"), [("browser", "psutil"), ("simulated_page", "trustme")]
)
def test_a_plain_install_is_told_what_to_install(
    pytester: pytest.Pytester, fixture: str, missing: str
) -> None:
    pytester.makeconftest(f"import sys; sys.modules[{missing!r}] = None")
    pytester.makepyfile(f"def test_something({fixture}): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    words = f"*{missing} is not installed*pip install 'bright-sync[[]harness[]]'"
    result.stdout.fnmatch_lines([words])


def test_a_collector_that_fails_does_not_hide_the_failure(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_fails(evidence):
            evidence.add("broken", lambda path: 1 / 0)
            assert False, "the failure itself"
        """
    )
    result = pytester.runpytest_subprocess("--evidence", str(pytester.path / "kept"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the failure itself*"])
    (told,) = Path(pytester.path / "kept").glob("*/broken.error.txt")
    assert "ZeroDivisionError" in told.read_text()
