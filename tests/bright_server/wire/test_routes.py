"""What a route says of the conversation that its page shows."""

import pytest

from bright_server.wire.routes import named_conversation


@pytest.mark.parametrize(
    ("route", "named"),
    [
        ("#/?cid=a-b%2311011%40icbu", ("a-b#11011@icbu", None)),
        ("?cid=a-b#/", ("a-b", None)),
        ("#/?cid=a&cid=a", ("a", None)),
        ("", (None, "route_missing")),
        ("  ", (None, "route_missing")),
        ("#/", (None, "route_without_conversation")),
        ("#/?other=cid", (None, "route_without_conversation")),
        ("#/?cid=", (None, "route_ambiguous")),
        ("#/?cid=a&cid=b", (None, "route_ambiguous")),
        (f"#/?cid={'a' * 257}", (None, "route_ambiguous")),
    ],
)
def test_ot_65_a_route_names_one_conversation_or_says_why_not(
    route: str, named: tuple[str | None, str | None]
) -> None:
    """OT-65: a definite reason, one of a closed list."""
    assert named_conversation(route) == named
