"""What can go wrong in the model of the extension, as one tree.

ModelError
├── PageError         the page did not answer, or answered an error; `code` as in JS
│   └── SilenceError  nothing at all came back in time
├── StoreError        the store failed, in the extension's own words; `code` as in JS
└── ModelMisuseError  whoever drives the model did what no browser does
"""

from __future__ import annotations

from dataclasses import dataclass


class ModelError(Exception):
    """The root: catching it catches whatever the model raises on purpose."""


class CodedError(ModelError):
    """An error with the stable code that the extension gives it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class PageError(CodedError):
    """`page_gone`, `page_timeout`, and the page's own codes."""


class SilenceError(PageError):
    """Nothing at all came back: not even that one of the page's own calls is late."""


class StoreError(CodedError):
    """`store_full`, `store_write_failed`, `store_blocked` and the like."""


class ModelMisuseError(ModelError):
    """A step of a task that waits, an answer to nothing: a fault of the driver."""


@dataclass(frozen=True)
class Fault:
    """What the extension would show: a stable code and a sentence."""

    code: str
    message: str


def describe(error: BaseException) -> Fault:
    """The code and the words of anything that was raised."""
    if isinstance(error, CodedError):
        return Fault(error.code, str(error))
    return Fault("unexpected", str(error))
