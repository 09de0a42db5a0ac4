"""Which browser is taken and which refused; stand-ins that only tell a version."""

import time
from pathlib import Path

import pytest

from extension_harness.errors import ChromiumNotFoundError, ChromiumUnusableError
from extension_harness.launch import chromium
from extension_harness.launch.chromium import find, inspect


def stand_in(path: Path, says: str, status: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("name", "says", "reason"),
    [
        ("google-chrome", "Google Chrome 150.0.1.2", "Google Chrome, which ignores"),
        ("microsoft-edge", "Microsoft Edge 150.0.1.2", "Microsoft Edge, which ignores"),
        (
            "chrome-headless-shell",
            "Google Chrome for Testing 150.0.1.2",
            "headless shell",
        ),
        ("headless_shell", "Chromium 150.0.1.2", "headless shell"),
        ("chromium", "HeadlessChrome 150.0.1.2", "headless shell"),
        ("chromium", "Chromium 99.0.1.2", "below 120"),
        ("chromium-browser", "requires the chromium snap", "it said: requires"),
    ],
)
def test_a_browser_that_cannot_load_an_extension_is_refused_with_the_reason(
    tmp_path: Path, name: str, says: str, reason: str
) -> None:
    """Known bug 56: within ten seconds, and not as a time-out of something later."""
    began = time.monotonic()
    with pytest.raises(ChromiumUnusableError, match=reason):
        inspect(stand_in(tmp_path / name, says))
    assert time.monotonic() - began < 10


def test_a_browser_that_does_not_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium, "VERSION_SECONDS", 0.1)
    path = stand_in(tmp_path / "chromium", "")
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(ChromiumUnusableError, match="no answer"):
        inspect(path)


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chromium"
    path.write_text("not a program")
    path.chmod(0o755)
    with pytest.raises(ChromiumUnusableError, match="does not start"):
        inspect(path)


def test_chrome_for_testing_is_taken(tmp_path: Path) -> None:
    path = stand_in(tmp_path / "chrome", "Google Chrome for Testing 150.0.1.2")
    assert inspect(path).major == 150


def test_the_option_goes_before_the_environment_and_that_before_the_rest(
    tmp_path: Path,
) -> None:
    option = stand_in(tmp_path / "a/chromium", "Chromium 150.0.0.1")
    variable = stand_in(tmp_path / "b/chromium", "Chromium 150.0.0.2")
    downloads = tmp_path / "c"
    stand_in(downloads / "chromium-1001/chrome-linux/chrome", "Chromium 150.0.0.3")
    newest = stand_in(
        downloads / "chromium-1002/chrome-linux64/chrome", "Chromium 150.0.0.4"
    )
    system = stand_in(tmp_path / "d/chromium", "Chromium 150.0.0.5")
    places = {"PLAYWRIGHT_BROWSERS_PATH": str(downloads), "PATH": str(system.parent)}
    named = {**places, "BRIGHT_CHROMIUM": str(variable)}
    assert find(option, named).executable == option
    assert find(None, named).executable == variable
    assert find(None, places).executable == newest
    assert find(
        None, {**places, "PLAYWRIGHT_BROWSERS_PATH": "/nowhere"}
    ).executable == (system)


def test_one_that_was_named_is_never_replaced_by_another(tmp_path: Path) -> None:
    system = stand_in(tmp_path / "chromium", "Chromium 150.0.0.5")
    with pytest.raises(ChromiumUnusableError, match="no such program"):
        find(tmp_path / "gone", {"PATH": str(system.parent)})


def test_without_any_every_place_is_named(tmp_path: Path) -> None:
    branded = stand_in(tmp_path / "chromium", "Google Chrome 150.0.1.2")
    with pytest.raises(ChromiumNotFoundError) as missing:
        find(
            None, {"PATH": str(branded.parent), "PLAYWRIGHT_BROWSERS_PATH": "/nowhere"}
        )
    for place in ("BRIGHT_CHROMIUM", str(branded), "Playwright", "--install"):
        assert place in str(missing.value)


def test_installing_prints_nothing_when_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = stand_in(tmp_path / "chromium", "Chromium 150.0.0.1")
    monkeypatch.setenv("BRIGHT_CHROMIUM", str(path))
    assert chromium.main(["--install"]) == 0
    assert capfd.readouterr() == ("", "")
    assert chromium.main([]) == 0
    assert capfd.readouterr().out == f"{path} 150.0.0.1\n"


def test_installing_where_it_cannot_be_done_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("BRIGHT_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert chromium.main(["--install"]) == 1
    assert "BRIGHT_CHROMIUM" in capfd.readouterr().err


def test_ubuntu_gets_playwrights_build_for_its_package_is_a_snap() -> None:
    steps = chromium.installation('NAME="Ubuntu"\nID=ubuntu\n', as_root=False)

    assert steps[-1][1:] == ("-m", "playwright", "install", "--with-deps", "chromium")


def test_debian_gets_its_own_package_as_root_or_by_sudo() -> None:
    steps = chromium.installation("ID=debian\n", as_root=False)

    assert steps[-1][:5] == ("sudo", "apt-get", "install", "-y", "-qq")
    assert steps[-1][5:] == ("libatomic1", "chromium")
    assert all(
        step[0] == "apt-get"
        for step in chromium.installation("ID=debian\n", as_root=True)
    )
