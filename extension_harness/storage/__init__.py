"""The extension's own storage: read, compared by digests, written in any shape."""

from extension_harness.storage.access import CHUNK, ExtensionStorage
from extension_harness.storage.dump import (
    DatabaseDump,
    Index,
    IndexDigest,
    IndexEntry,
    ObjectStore,
    Record,
    StoreDigests,
)

__all__ = [
    "CHUNK",
    "DatabaseDump",
    "ExtensionStorage",
    "Index",
    "IndexDigest",
    "IndexEntry",
    "ObjectStore",
    "Record",
    "StoreDigests",
]
