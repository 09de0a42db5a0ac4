"""The files of an update in place: all of the new build, nothing of the old."""

import json
from pathlib import Path

import pytest

from extension_harness.errors import ExtensionNotLoadedError, ExtensionUpdateError
from extension_harness.launch.unpacked import UnpackedExtension
from extension_harness.launch.update import replaced

KEYS = ("AAAA", "BBBB")


def build(folder: Path, version: str, key: str | None, *files: str) -> Path:
    folder.mkdir()
    manifest = {"manifest_version": 3, "name": "x", "version": version}
    if key is not None:
        manifest["key"] = key
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(version, "utf-8")
    return folder


def names(folder: Path) -> set[str]:
    return {
        str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()
    }


@pytest.mark.parametrize("key", [KEYS[0], None])
def test_the_loaded_folder_gets_the_new_builds_files_and_no_others(
    tmp_path: Path, key: str | None
) -> None:
    """The id stays, pinned or by the folder's path."""
    loaded = UnpackedExtension.read(
        build(tmp_path / "loaded", "1", key, "a.js", "old/b.js")
    )
    source = build(tmp_path / "source", "2", key, "a.js", "new/c.js")
    after = replaced(loaded, source)
    assert (after.folder, after.identifier) == (loaded.folder, loaded.identifier)
    assert after.version == "2"
    assert names(after.folder) == names(source)
    assert (after.folder / "a.js").read_text() == "2"


@pytest.mark.parametrize("keys", [KEYS, (KEYS[0], None), (None, KEYS[0])])
def test_a_build_of_another_id_is_refused_and_replaces_nothing(
    tmp_path: Path, keys: tuple[str | None, str | None]
) -> None:
    """Known bug 55: its data would only seem to have vanished."""
    loaded = UnpackedExtension.read(build(tmp_path / "loaded", "1", keys[0], "a.js"))
    source = build(tmp_path / "source", "2", keys[1])
    with pytest.raises(ExtensionUpdateError, match=loaded.identifier):
        replaced(loaded, source)
    assert UnpackedExtension.read(loaded.folder) == loaded
    assert names(loaded.folder) == {"manifest.json", "a.js"}


def test_what_is_no_extension_replaces_nothing(tmp_path: Path) -> None:
    loaded = UnpackedExtension.read(build(tmp_path / "loaded", "1", None, "a.js"))
    with pytest.raises(ExtensionNotLoadedError, match="cannot be read"):
        replaced(loaded, tmp_path / "nothing")
    assert names(loaded.folder) == {"manifest.json", "a.js"}
