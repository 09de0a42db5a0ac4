"""JavaScript in a DevTools session, with its value brought back or its error raised."""

import json
from concurrent.futures import InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any

from extension_harness.devtools.cdp import DevTools, Json, ProtocolEvent
from extension_harness.errors import (
    DevToolsError,
    DevToolsTimeoutError,
    EvaluationError,
)

GONE = frozenset({"Inspector.targetCrashed", "Target.detachedFromTarget"})


def evaluate(
    devtools: DevTools,
    session: str,
    expression: str,
    arguments: tuple[object, ...] = (),
    *,
    timeout: float = 15.0,
    await_promise: bool = True,
) -> Any:  # noqa: ANN401 - what the caller's own expression gives, as JSON
    """Evaluate, await a promise, return the value as JSON.

    With arguments the expression is a function and is called with them. In a thread
    that the debugger has paused no promise ever settles: there, ``await_promise`` must
    be False.

    Raises EvaluationError with the exception's description; DevToolsTimeoutError;
    DevToolsError at once when the target dies meanwhile (it would never answer).
    """
    if arguments:
        given = ", ".join(json.dumps(argument) for argument in arguments)
        expression = f"({expression})({given})"
    params: Json = {
        "expression": expression,
        "awaitPromise": await_promise,
        "returnByValue": True,
        "userGesture": True,
    }
    answer = devtools.post("Runtime.evaluate", params, session=session)

    def notice(event: ProtocolEvent) -> None:
        if event.method in GONE and session in (
            event.session_id,
            event.params.get("sessionId"),
        ):
            with suppress(InvalidStateError):  # it answered just before
                answer.set_exception(DevToolsError("the target died while evaluating"))

    remove = devtools.listen(notice)
    try:
        result = answer.result(timeout)
    except FutureTimeout as cause:
        raise DevToolsTimeoutError(
            f"JavaScript gave no answer in {timeout:g} s"
        ) from cause
    finally:
        remove()
    failure = result.get("exceptionDetails")
    if failure is not None:
        thrown = failure.get("exception", {})
        said = thrown.get("description") or thrown.get("value") or failure.get("text")
        raise EvaluationError(str(said))
    return result["result"].get("value")
