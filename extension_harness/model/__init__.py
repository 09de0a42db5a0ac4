"""The extension's behaviour as a model: without I/O, driven step by step.

One file here is one file of `extension/background` or `extension/shared`; the store is
`storage_schema.onetalk`. `ModelWorker` is one life of the worker on a `Disk`,
`ModelPage` a page with its content script that shows a `Truth`. `conformance` holds the
model against recordings of the real extension.
"""

from __future__ import annotations

from extension_harness.model.disk import Disk
from extension_harness.model.page import ModelPage
from extension_harness.model.truth import Truth
from extension_harness.model.worker import ModelWorker

__all__ = ["Disk", "ModelPage", "ModelWorker", "Truth"]
