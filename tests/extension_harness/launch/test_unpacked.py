"""What the harness knows of an extension before a browser has seen it."""

import json
from pathlib import Path

import pytest

from extension_harness.errors import ExtensionNotLoadedError
from extension_harness.launch.unpacked import UnpackedExtension

RECORDER = Path(__file__).parents[1] / "extensions/recorder"
GOOD = {"manifest_version": 3, "name": "x", "version": "1.0"}


def write(folder: Path, manifest: object) -> Path:
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / "manifest.json").write_text(text)
    return folder


def test_a_pinned_key_gives_the_id_whatever_the_folder(tmp_path: Path) -> None:
    """Known bug 55."""
    manifest = json.loads((RECORDER / "manifest.json").read_text())
    del manifest["background"]
    here = UnpackedExtension.read(RECORDER)
    there = UnpackedExtension.read(write(tmp_path, manifest))
    assert here.identifier == there.identifier == "knodljakdhdobogleippahmnmegodcdi"
    assert here.pinned
    assert there.pinned


def test_without_a_key_the_folder_gives_the_id(tmp_path: Path) -> None:
    """Known bug 55. Chromium follows no link: a link is another folder."""
    folder = tmp_path / "real"
    folder.mkdir()
    write(folder, GOOD)
    (tmp_path / "link").symlink_to(folder)
    real = UnpackedExtension.read(folder)
    link = UnpackedExtension.read(tmp_path / "link")
    assert not real.pinned
    assert real.identifier != link.identifier
    assert set(real.identifier) <= set("abcdefghijklmnop")
    assert len(real.identifier) == 32


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ([], "no Manifest V3"),
        ({**GOOD, "manifest_version": 2}, "must be 3"),
        ({**GOOD, "background": {"service_worker": "gone.js"}}, r"no file: gone\.js"),
        ({**GOOD, "key": "?"}, "key is not base64"),
    ],
)
def test_a_broken_manifest_is_told_with_its_reason(
    tmp_path: Path, manifest: object, reason: str
) -> None:
    """Known bug 56."""
    if manifest is not None:
        write(tmp_path, manifest)
    with pytest.raises(ExtensionNotLoadedError, match=reason):
        UnpackedExtension.read(tmp_path)
