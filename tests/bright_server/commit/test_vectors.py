"""The published vectors are what the code makes, byte for byte (MS-13)."""

from __future__ import annotations

import hashlib

import pytest

from tests.bright_server.commit import vectors

VECTORS = vectors.read()
PUBLISHED = "1285cb3f0100256e9b5fc95ca7514191bfd761e560a50b0aea5449c631f5e957"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_the_code_makes_what_is_published(vector: vectors.Vector) -> None:
    """MS-13: so what an older server has kept is read by this one."""
    assert vector.made() == vector.due


def test_the_published_file_is_the_one_that_was_published() -> None:
    """MS-13: who changes a format makes a new version of it, and documents it."""
    text = "".join(
        each.due["full_identity_hex"] + each.due["frozen"] + each.due["envelope_body"]
        for each in VECTORS
    )
    assert hashlib.sha256(text.encode()).hexdigest() == PUBLISHED


def test_the_vectors_have_each_kind_of_part() -> None:
    """MS-13: none, empty, beyond ASCII, and both origins."""
    assert {each.request.key.origin for each in VECTORS} == {"sent", "observed"}
    forms = [bytes.fromhex(each.due["full_identity_hex"]) for each in VECTORS]
    assert any(b"\xff\xff\xff\xff" in form for form in forms)
    assert any(b"\x00\x00\x00\x00" in form for form in forms)
    assert any("🙂".encode() in form for form in forms)
