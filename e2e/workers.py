"""What the worker and its pages tell a test, asked as the extension's own pages do."""

from __future__ import annotations

import json
from typing import Any

from extension_harness.browser import Browser
from extension_harness.devtools.cdp import Subscription
from extension_harness.errors import EvaluationError
from extension_harness.tab import Page
from extension_harness.waiting import wait_until

# Notes each message of the observer to the worker, and what became of it.
NOTE_ATTEMPTS = """
globalThis.attempts = [];
const send = chrome.runtime.sendMessage;
chrome.runtime.sendMessage = (message) => {
  const attempt = { type: message.type, body: message.body, outcome: "open" };
  attempts.push(attempt);
  const answer = send.call(chrome.runtime, message);
  answer.then(
    (value) => { attempt.outcome = value?.stored === true ? "stored" : "not stored"; },
    (error) => { attempt.outcome = String(error.message); },
  );
  return answer;
};
"""
ATTEMPTS = "JSON.stringify(attempts.filter((each) => each.type === 'page.observed'))"
STATUS = "chrome.runtime.sendMessage({to: 'worker', kind: 'status'})"


def worker_status(browser: Browser) -> dict[str, Any]:
    """What the popup is told. Wakes a worker that is not running."""
    with browser.extension_page() as page:
        found: dict[str, Any] = page.evaluate(STATUS)
    return found


def put_to_rest(browser: Browser) -> None:
    """Stop the worker, with nothing left that wakes it. No page may be open."""
    worker_status(browser)  # its beginning is over
    with browser.extension_page() as page:

        def is_at_rest() -> bool:
            page.evaluate("chrome.alarms.clearAll()")
            browser.worker.stop()
            # One may have been set, or have rung, before the worker was stopped.
            page.evaluate("chrome.alarms.clearAll()")
            return not browser.worker.running()

        wait_until(is_at_rest, 60, "the worker to rest")


class ObserverWorld:
    """The content observer's own JavaScript world in one OneTalk tab."""

    def __init__(self, browser: Browser, page: Page) -> None:
        """Find it; it is another one after each navigation."""
        self._page = page
        with browser.devtools.subscribe("Runtime.executionContextCreated") as made:
            page.call("Runtime.enable")
            page.call("Runtime.disable")
            self._context = _of_extension(made, browser.extension.origin)

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - as evaluation.evaluate
        """JavaScript there. Raises EvaluationError."""
        answer = self._page.call(
            "Runtime.evaluate",
            expression=expression,
            contextId=self._context,
            awaitPromise=True,
            returnByValue=True,
        )
        if failure := answer.get("exceptionDetails"):
            raise EvaluationError(str(failure.get("text")))
        return answer["result"].get("value")

    def note_attempts(self) -> None:
        """Note from now on what the observer tells the worker."""
        self.evaluate(NOTE_ATTEMPTS)

    def attempts(self) -> list[dict[str, str]]:
        """Each observation told so far: its ``body`` and its ``outcome``.

        The outcome is ``open``, ``stored``, ``not stored``, or the error's words.
        """
        found: list[dict[str, str]] = json.loads(self.evaluate(ATTEMPTS))
        return found


def _of_extension(made: Subscription, origin: str) -> int:
    while True:
        context = made.get(30).params["context"]
        if context["origin"] == origin:
            return int(context["id"])
