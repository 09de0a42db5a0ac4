"""What can go wrong while a harness drives a browser, as one tree.

Every error says what was wrong, where, and what to do; the cause from below (a socket,
a process, the DevTools protocol) is kept as ``__cause__``. Messages never carry the
contents of frames or of the extension's storage, so a token cannot reach a test report
through them.

    HarnessError
    ├── HarnessIncompleteError          a package that it needs is not installed
    ├── ChromiumNotFoundError           no browser on this machine
    ├── ChromiumUnusableError           a browser that cannot load an unpacked extension
    ├── BrowserStartError               it did not come up
    ├── ProfileInUseError               another live browser owns the profile
    ├── ExtensionNotLoadedError         it came up without the extension
    ├── TrapFiredError                  a trap fired while the extension was loaded
    ├── ExtensionUpdateError            the extension cannot be replaced in place
    ├── DevToolsError                   the protocol refused a call
    │   ├── DevToolsClosedError         the browser went away
    │   └── DevToolsTimeoutError        no answer in time
    ├── EvaluationError                 JavaScript threw
    ├── WorkerStoppedError              the service worker is not running
    ├── WaitTimeoutError                a condition did not come true in time
    │   ├── WorkerStateTimeoutError     the service worker did not stop or start
    │   └── TrapNotHitError             the chosen instant never came
    ├── TrapError                       a trap cannot be set now
    ├── IdleDeathImpossibleError        an attached debugger keeps the worker alive
    ├── StorageAccessError              its storage could not be read or written
    ├── ServerError                     the server did not start, stop or answer
    └── FaultRefusedError               a fault that the proxy cannot make now
"""

from collections.abc import Sequence


class HarnessError(Exception):
    """The root: catching it catches whatever this package raises on purpose."""


class HarnessIncompleteError(HarnessError, ImportError):
    """A package of the harness's own requirements is not installed."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"{missing} is not installed, which the extension harness needs; the plain "
            "package leaves it out: pip install 'bright-sync[harness]'",
            name=missing,
        )


class ChromiumNotFoundError(HarnessError):
    """There is no usable Chromium here; the message names every place looked at."""

    def __init__(self, looked_at: Sequence[str]) -> None:
        self.looked_at = tuple(looked_at)
        super().__init__(
            "no Chromium found; looked at: "
            + "; ".join(looked_at)
            + ". Install one with `python -m extension_harness.launch.chromium "
            "--install`, or name one with --chromium or BRIGHT_CHROMIUM"
        )


class ChromiumUnusableError(HarnessError):
    """This browser cannot load an unpacked extension, and why."""

    def __init__(self, executable: str, reason: str) -> None:
        self.executable = executable
        self.reason = reason
        super().__init__(
            f"{executable} cannot be used: {reason}. Use Chromium, named with "
            "--chromium or BRIGHT_CHROMIUM"
        )


class BrowserStartError(HarnessError):
    """Chromium did not come up; the end of its own log is in the message."""


class ProfileInUseError(HarnessError):
    """Another live browser owns the profile folder; its lock was left alone."""

    def __init__(self, profile: str, owner: int) -> None:
        self.profile = profile
        self.owner = owner
        super().__init__(
            f"profile {profile} belongs to the running process {owner}; close that "
            "browser or use another profile (its lock was not touched)"
        )


class ExtensionNotLoadedError(HarnessError):
    """The browser runs without the extension; says why and which targets were seen."""

    def __init__(
        self, extension: str, reason: str, targets: Sequence[str] = ()
    ) -> None:
        self.extension = extension
        self.reason = reason
        self.targets = tuple(targets)
        seen = f"; targets seen: {', '.join(targets) or 'none'}" if targets else ""
        super().__init__(f"extension {extension} is not loaded: {reason}{seen}")


class ExtensionNotActivatedError(ExtensionNotLoadedError):
    """The browser knows the extension and does not make its service worker active."""


class TrapFiredError(HarnessError):
    """A trap fired while the extension was loaded: what stands now is the trap's doing.

    `ArmedTrap.wait` gives the hit. The cause, if any, says why the extension is not
    proven to be loaded.
    """

    def __init__(self, extension: str, trap: str) -> None:
        super().__init__(
            f"a trap fired while extension {extension} was loaded ({trap}); a worker "
            "that is stopped before it is activated may or may not come up. To stop an "
            "upgrade, load the new build first, stop the worker, build the old "
            "database, set the trap and wake the worker (docs/harness.md, Testing an "
            "upgrade); or expect this error"
        )


class ExtensionUpdateError(HarnessError):
    """The loaded extension cannot be replaced in place; nothing was replaced."""


class DevToolsError(HarnessError):
    """The DevTools protocol refused a call or could not carry it."""


class DevToolsClosedError(DevToolsError):
    """The connection to the browser is gone: it was closed, killed or crashed."""


class DevToolsTimeoutError(DevToolsError):
    """The browser did not answer a call in time."""


class EvaluationError(HarnessError):
    """JavaScript threw; carries the exception's own description."""


class WorkerStoppedError(HarnessError):
    """Something was asked of a service worker that is not running."""


class WaitTimeoutError(HarnessError):
    """A condition did not come true before its deadline."""

    def __init__(self, what: str, seconds: float, last: str = "") -> None:
        self.what = what
        self.seconds = seconds
        tail = f" (last seen: {last})" if last else ""
        super().__init__(f"waited {seconds:g} s in vain: {what}{tail}")


class WorkerStateTimeoutError(WaitTimeoutError):
    """The service worker did not stop, or did not start, in time."""


class TrapNotHitError(WaitTimeoutError):
    """The instant that a trap waits for did not come."""


class TrapError(HarnessError):
    """A trap cannot be set now, and why."""


class IdleDeathImpossibleError(HarnessError):
    """Idle death was awaited while something is attached to the worker."""


class AttachedMode(UserWarning):
    """A debugger holds the service worker: it will not die of idleness meanwhile."""


class StorageAccessError(HarnessError):
    """The extension's storage could not be read or written."""


class ServerError(HarnessError):
    """The server under test did not start, stop, or answer its command line."""


class FaultRefusedError(HarnessError):
    """The proxy cannot make this fault now, and why."""
