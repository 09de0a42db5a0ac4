"""Instants as values: how they are counted, narrowed and chained."""

from extension_harness.traps import Trap


def test_a_trap_is_one_step() -> None:
    trap = Trap.before_send("observation.batch").times(3).where(mode="full")
    assert trap.steps() == [
        {
            "point": "before_send",
            "kind": "observation.batch",
            "stores": [],
            "mode": None,
            "fields": {"mode": "full"},
            "nth": 3,
        }
    ]


def test_a_chain_is_passed_from_left_to_right() -> None:
    chain = Trap.received("a").then(Trap.write("b")).then(Trap.committed("b"))
    assert [step["point"] for step in chain.steps()] == [
        "received",
        "write",
        "committed",
    ]
    nested = Trap.received("a").then(Trap.write("b").then(Trap.committed("b")))
    assert nested.steps() == chain.steps()


def test_narrowing_leaves_the_first_as_it_was() -> None:
    first = Trap.transaction("rows")
    assert first.times(2) != first
    assert first == Trap.transaction("rows")


def test_a_trap_reads_as_what_it_waits_for() -> None:
    trap = Trap.received("observation.ack").then(Trap.transaction("a", "b").times(2))
    assert str(trap) == "received observation.ack, then transaction a b (occurrence 2)"
