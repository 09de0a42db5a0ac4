"""An unpacked extension on disk: what its manifest says, and the id it will have.

The id is the extension's origin and so the key of all its stored data. With a pinned
``key`` it is the same from every folder; without one Chromium derives it from the
folder's path, and a copy elsewhere is another extension with empty storage.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from extension_harness.errors import ExtensionNotLoadedError


@dataclass(frozen=True)
class UnpackedExtension:
    """What loading this folder must give.

    Attributes:
        folder: As Chromium is told; the id depends on it unless ``pinned``.
        name: The manifest's, before localisation.
        version: The manifest's.
        identifier: 32 letters, a to p.
        pinned: Whether the manifest has a ``key``.
        service_worker: The worker's script, relative to the folder; None without one.
    """

    folder: Path
    name: str
    version: str
    identifier: str
    pinned: bool
    service_worker: str | None

    @property
    def origin(self) -> str:
        """``chrome-extension://ID``, without a slash at the end."""
        return f"chrome-extension://{self.identifier}"

    @classmethod
    def read(cls, folder: Path) -> "UnpackedExtension":
        """Read the manifest. Raises ExtensionNotLoadedError, saying what is wrong."""
        manifest_path = folder / "manifest.json"
        try:
            manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
        except OSError as cause:
            raise ExtensionNotLoadedError(
                str(folder), f"manifest.json cannot be read: {cause.strerror}"
            ) from cause
        except ValueError as cause:
            raise ExtensionNotLoadedError(
                str(folder), f"manifest.json is not JSON: {cause}"
            ) from cause
        if not isinstance(manifest, dict) or manifest.get("manifest_version") != 3:
            raise ExtensionNotLoadedError(
                str(folder),
                "manifest.json is no Manifest V3: manifest_version must be 3",
            )
        worker = (manifest.get("background") or {}).get("service_worker")
        if worker is not None and not (folder / worker.lstrip("/")).is_file():
            raise ExtensionNotLoadedError(
                str(folder), f"background.service_worker names no file: {worker}"
            )
        key = manifest.get("key")
        # Chromium makes the path absolute and follows no link.
        seed = _decode(folder, key) if key else str(folder.absolute()).encode()
        return cls(
            folder=folder.absolute(),
            name=str(manifest.get("name", "")),
            version=str(manifest.get("version", "")),
            identifier=_identifier(seed),
            pinned=key is not None,
            service_worker=worker,
        )


def _decode(folder: Path, key: str) -> bytes:
    try:
        return base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError) as cause:
        raise ExtensionNotLoadedError(
            str(folder), f"manifest.json: key is not base64: {cause}"
        ) from cause


def _identifier(seed: bytes) -> str:
    digits = hashlib.sha256(seed).hexdigest()[:32]
    return "".join(chr(ord("a") + int(digit, 16)) for digit in digits)
