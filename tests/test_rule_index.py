"""Each rule has its tests, and the page that says which is the truth."""

from __future__ import annotations

from pathlib import Path

from tests import rule_index


def test_every_rule_is_named_by_a_test() -> None:
    stated = rule_index.SPECIFICATION.read_text(encoding="utf-8").count("- **OT-")
    assert len(rule_index.rules()) == stated > 0
    empty = [rule for rule, tests in rule_index.proofs().items() if not tests]
    assert empty == []


def test_the_page_says_what_the_tests_say() -> None:
    written = rule_index.PAGE.read_text(encoding="utf-8")
    assert written == rule_index.page(), "run `python -m tests.rule_index`"


def test_tests_are_found_by_docstring_and_by_title(tmp_path: Path) -> None:
    for name, text in {
        "tests/test_a.py": 'def test_one():\n    """OT-12.\n\n    OT-40 to OT-42."""\n',
        "e2e/test_b.py": 'async def test_two():\n    """A claim of OT-12."""\n',
        "tests/c.test.mjs": 'test("OT-42: in order", () => {});\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = rule_index.proofs(tmp_path)
    assert found["OT-12"] == ["e2e/test_b.py::test_two", "tests/test_a.py::test_one"]
    assert found["OT-41"] == ["tests/test_a.py::test_one"]
    assert found["OT-42"] == [
        "tests/c.test.mjs::OT-42: in order",
        "tests/test_a.py::test_one",
    ]
    assert found["OT-13"] == []
