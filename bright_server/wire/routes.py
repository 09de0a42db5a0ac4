"""What a page's route says of the conversation that it shows (OT-65). No I/O.

A route is the page's own text, most often its fragment: `#/?cid=…`. It names a
conversation by the parameter `cid`. One that has no `cid` names none, which is no
fault: it may show a list. One that has must name exactly one.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from bright_server.wire.commands import RouteReason
from bright_server.wire.scalars import MAX_IDENTIFIER

_PARAMETER = "cid"


def named_conversation(route: str) -> tuple[str | None, RouteReason | None]:
    """Return the one conversation that a route names, or why it names none."""
    if not route.strip():
        return None, "route_missing"
    _, _, query = route.partition("?")
    # A `#` inside a value is percent-encoded; a bare one ends the query.
    pairs = parse_qsl(query.split("#", 1)[0], keep_blank_values=True)
    named = {value for name, value in pairs if name == _PARAMETER}
    if not named:
        return None, "route_without_conversation"
    (first, *others) = named
    if others or not 0 < len(first.strip()) <= MAX_IDENTIFIER:
        return None, "route_ambiguous"
    return first, None


def claim_fault(route: str) -> RouteReason | None:
    """Return why a route that claims to name a conversation does not, if it does so."""
    _, reason = named_conversation(route)
    return reason if reason == "route_ambiguous" else None
