"""Each rule has its tests, and the page that says which is the truth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import rule_index
from tests.rule_claims import STORES, claims

PROOFS = rule_index.proofs()
OF_STORES = [rule for rule in rule_index.rules() if rule.startswith("MS-")]

KIT = {
    "bright_server/testing/under_test.py": """
class Capabilities:
    atomic_step: bool = True
    shared: bool = False
""",
    "bright_server/testing/suite.py": """
class Steps:
    async def test_a(self, stores):
        "MS-20: a claim."
    async def test_b(self, stores):
        "MS-23: one that not every store makes."
        needs(stores.can.atomic_step, "the atomic step")
    async def test_c(self, stores):
        "MS-26."
        needs(stores.can.shared, "sharing")
    async def test_d(self, stores):
        "MS-40."
        needs(self.kills, "a process")

class Contract(Steps):
    kills = True

class Machine:
    @rule()
    def step(self):
        "MS-22."

def run_it(make): ...
""",
    "tests/conftest.py": """
from tests.under_test import SqliteUnderTest
@pytest.fixture
def stores(tmp_path) -> Iterator[SqliteUnderTest]: ...
""",
    "tests/under_test.py": """
from bright_server.testing.under_test import Capabilities
class SqliteUnderTest:
    can = Capabilities(shared=True)
class MemoryUnderTest:
    can = Capabilities()
class TwoStepUnderTest:
    def can(self):
        return replace(self.inner.can, atomic_step=False)
""",
}


def test_every_rule_is_named_by_a_test() -> None:
    texts = [each.read_text("utf-8") for each in rule_index.SPECIFICATIONS]
    stated = [
        len(re.findall(r"^- \*\*[A-Z]{2}-", text, re.MULTILINE)) for text in texts
    ]
    assert len(rule_index.rules()) == sum(stated)
    assert all(stated)
    assert [rule for rule, tests in PROOFS.items() if not tests] == []


@pytest.mark.parametrize("store", STORES)
def test_every_rule_of_the_message_store_is_named_on_every_store(store: str) -> None:
    """MS-40: by a test that runs there; what is not asked of a store says why."""
    on = {rule: frozenset().union(*PROOFS[rule].values()) for rule in OF_STORES}
    asked = [rule for rule in OF_STORES if store in rule_index.stores_of(rule)]
    assert [rule for rule in asked if store not in on[rule]] == []
    assert len(asked) >= len(OF_STORES) - len(rule_index.EXCUSED)


def test_what_is_excused_is_a_rule_and_a_store_and_has_a_reason() -> None:
    for rule, (stores, reason) in rule_index.EXCUSED.items():
        assert rule in OF_STORES
        assert {*stores} < {*STORES}
        assert reason


def test_the_page_says_what_the_tests_say() -> None:
    written = rule_index.PAGE.read_text(encoding="utf-8")
    assert written == rule_index.page(), "run `python -m tests.rule_index`"


def test_tests_are_found_by_docstring_and_by_title(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "tests/test_a.py": 'def test_one():\n    """OT-12; OT-40 to OT-42."""\n',
            "e2e/test_b.py": 'async def test_two():\n    """A claim of OT-12."""\n',
            "tests/c.test.mjs": 'test("OT-42: in order", () => {});\n',
            "tests/stores/redis/test_d.py": 'def test_e():\n    """MS-13."""\n',
        },
    )
    found = {rule: list(tests) for rule, tests in rule_index.proofs(tmp_path).items()}
    assert found["OT-12"] == ["e2e/test_b.py::test_two", "tests/test_a.py::test_one"]
    assert found["OT-41"] == ["tests/test_a.py::test_one"]
    assert found["OT-42"] == [
        "tests/c.test.mjs::OT-42: in order",
        "tests/test_a.py::test_one",
    ]
    assert found["OT-13"] == []
    assert rule_index.proofs(tmp_path)["MS-13"] == {
        "tests/stores/redis/test_d.py::test_e": frozenset({"redis"})
    }


def test_a_suite_counts_on_the_stores_that_plug_it_in(tmp_path: Path) -> None:
    """The fixture of the class, of its module, or of the folder says which."""
    write(
        tmp_path,
        {
            **KIT,
            "tests/test_near.py": """
from bright_server.testing.suite import Contract
from tests.under_test import TwoStepUnderTest
class TestTwo(Contract):
    kills = False
    @pytest.fixture
    def stores(self) -> TwoStepUnderTest: ...
""",
            "tests/deeper/test_far.py": """
from bright_server.testing.suite import Contract
class TestFar(Contract): ...
class Unused(Contract): ...
""",
            "tests/test_machine.py": """
from bright_server.testing.suite import run_it
from tests.under_test import MemoryUnderTest
def test_it():
    "MS-40."
    run_it(MemoryUnderTest)
""",
        },
    )
    ran: dict[str, set[str]] = {}
    for claim in claims(tmp_path):
        ran.setdefault(claim.test.rpartition("::")[2], set()).update(claim.stores)
    assert ran == {
        "test_a": {"two-step", "sqlite"},
        "test_b": {"sqlite"},
        "test_c": {"sqlite"},
        "test_d": {"sqlite"},
        "test_it": {"memory"},
        "step": {"memory"},
    }


def test_a_suite_that_nothing_plugs_in_proves_nothing(tmp_path: Path) -> None:
    write(tmp_path, KIT)
    assert list(claims(tmp_path)) == []


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
