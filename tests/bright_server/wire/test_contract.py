"""The checked-in contract is the one that the models say."""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from bright_server.wire.contract import ANSWERS, REQUESTS, Format, contract_text

ROOT = Path(__file__).parents[3]
CONTRACT = ROOT / "docs" / "contract"
PROTOCOL = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("form", "name"),
    [("json-schema", "extension.schema.json"), ("asyncapi", "extension.asyncapi.json")],
)
def test_the_checked_in_contract_has_not_drifted(form: Format, name: str) -> None:
    assert (CONTRACT / name).read_text(encoding="utf-8") == contract_text(form), (
        f"write it anew: bright schema --format {form} > docs/contract/{name}"
    )


def test_every_frame_and_code_of_the_contract_is_in_the_protocol_page() -> None:
    schema = cast("dict[str, Any]", json.loads(contract_text("json-schema")))
    words = {
        *REQUESTS,
        *ANSWERS,
        *schema["x-error-codes"],
        *schema["x-rejected-codes"],
        *schema["x-revoked-reasons"],
        *schema["x-command-reasons"],
        *schema["x-route-reasons"],
    }

    assert {word for word in words if f"`{word}" not in PROTOCOL} == set()


@pytest.mark.parametrize("form", ["json-schema", "asyncapi"])
def test_every_reference_of_the_contract_leads_somewhere(form: Format) -> None:
    document = json.loads(contract_text(form))
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', contract_text(form)):
        place = document
        for step in reference.split("/"):
            assert step in place, reference
            place = place[step]
