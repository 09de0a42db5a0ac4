"""One tab, driven over DevTools: enough of a page driver for tests, and nothing more.

Driving a page does not attach to the service worker and does not keep it alive.
"""

import base64
import contextlib
from pathlib import Path
from typing import Any

from extension_harness.devtools.cdp import DevTools
from extension_harness.devtools.evaluation import evaluate
from extension_harness.errors import DevToolsError, EvaluationError, WaitTimeoutError
from extension_harness.waiting import countdown, wait_until

# Runs in the page: scroll the element into view and tell the middle of it.
MIDDLE = """(selector) => {
  const element = document.querySelector(selector);
  if (!element) return null;
  element.scrollIntoView({block: "center", inline: "center"});
  const box = element.getBoundingClientRect();
  return box.width && box.height
    ? {x: box.x + box.width / 2, y: box.y + box.height / 2} : null;
}"""


class Page:
    """A tab. Closing it twice, or after the browser went, is no error."""

    def __init__(self, devtools: DevTools, target_id: str, session: str) -> None:
        """Take over an attached tab; made by `open_page`."""
        self._devtools = devtools
        self.target_id = target_id
        self._session = session

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the tab is now."""
        return str(self.evaluate("location.href"))

    def evaluate(
        self, expression: str, *arguments: object, timeout: float = 30.0
    ) -> Any:  # noqa: ANN401 - as evaluation.evaluate
        """JavaScript in the page; see `evaluation.evaluate`."""
        return evaluate(
            self._devtools, self._session, expression, arguments, timeout=timeout
        )

    def wait_for(
        self, expression: str, *arguments: object, timeout: float = 30.0
    ) -> Any:  # noqa: ANN401 - as evaluation.evaluate
        """Wait until the expression is truthy and return its value.

        An expression that throws (the page is still loading) counts as not yet true;
        the last error is told when time is up. Raises WaitTimeoutError.
        """
        last = ""

        def probe() -> object:
            nonlocal last
            try:
                return self.evaluate(expression, *arguments, timeout=timeout + 5)
            except EvaluationError as failure:
                last = str(failure)
            except DevToolsError as failure:
                if self._devtools.closed:
                    raise
                last = str(failure)
            return None

        try:
            return wait_until(probe, timeout, f"in the page: {expression[:200]}")
        except WaitTimeoutError as late:
            raise WaitTimeoutError(late.what, timeout, last) from late

    def goto(self, url: str, timeout: float = 30.0) -> None:
        """Navigate and wait for the load event.

        Raises EvaluationError when it does not load, WaitTimeoutError.
        """
        left = countdown(timeout)
        with self._devtools.subscribe("Page.loadEventFired") as loads:
            self.call("Page.enable")
            answer = self.call("Page.navigate", url=url)
            if answer.get("errorText"):
                raise EvaluationError(f"{url} does not load: {answer['errorText']}")
            while loads.get(left()).session_id != self._session:
                pass

    def click(self, selector: str, timeout: float = 30.0) -> None:
        """Press and release the mouse on the middle of the element."""
        middle = self.wait_for(MIDDLE, selector, timeout=timeout)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=middle["x"],
                y=middle["y"],
                button="left",
                clickCount=1,
            )

    def fill(self, selector: str, text: str, timeout: float = 30.0) -> None:
        """Replace an input's text as if it had been typed."""
        self.wait_for("s => !!document.querySelector(s)", selector, timeout=timeout)
        self.evaluate(
            "s => { const e = document.querySelector(s); e.focus(); e.select?.(); }",
            selector,
        )
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """Set the viewport, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer_color_scheme(self, scheme: str) -> None:
        """Set ``prefers-color-scheme``: light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path: Path) -> Path:
        """Write a PNG of the viewport; brings the tab to the front.

        A tab behind another one draws nothing, so its picture might never come.
        """
        self.call("Page.bringToFront")
        answer = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def close(self) -> None:
        """Close the tab."""
        with contextlib.suppress(DevToolsError):
            self._devtools.call("Target.closeTarget", {"targetId": self.target_id})

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """A DevTools call in this tab's session, for what has no method here."""
        return self._devtools.call(method, dict(params), session=self._session)


def open_page(devtools: DevTools, url: str, *, background: bool = False) -> Page:
    """Open a tab at ``url`` and attach to it; does not wait for the page to load."""
    made = devtools.call("Target.createTarget", {"url": url, "background": background})
    return attach_page(devtools, str(made["targetId"]))


def attach_page(devtools: DevTools, target_id: str) -> Page:
    """Attach to a tab that is open already."""
    answer = devtools.call(
        "Target.attachToTarget", {"targetId": target_id, "flatten": True}
    )
    return Page(devtools, target_id, str(answer["sessionId"]))
