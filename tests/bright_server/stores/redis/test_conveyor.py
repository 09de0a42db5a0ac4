"""What many callers ask for goes together, and each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.redis.conveyor import Carried, Command, Conveyor
from bright_server.stores.redis.store import opened
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import committed, send


class Gate:
    """A lane that lets a load through when it is told to."""

    def __init__(self) -> None:
        self.loads: list[list[Command]] = []
        self.opens = asyncio.Event()
        self.fails = False
        self.fault: str | None = None

    async def carry(self, commands: Sequence[Command], durable: bool) -> Carried:
        self.loads.append(list(commands))
        await self.opens.wait()
        if self.fails:
            raise ConnectionResetError("cut")
        return Carried([("said", each) for each in commands], self.fault)


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_gathers_meanwhile_goes_as_one_load_in_its_order() -> None:
    gate = Gate()
    conveyor = Conveyor(gate.carry, lanes=1)
    first = asyncio.create_task(conveyor.send([("A",)], durable=True))
    await turns()
    others = [
        asyncio.create_task(conveyor.send([("B", n), ("C", n)], durable=True))
        for n in range(3)
    ]
    await turns()
    gate.opens.set()

    assert (await first).replies == [("said", ("A",))]
    for number, other in enumerate(others):
        assert (await other).replies == [
            ("said", ("B", number)),
            ("said", ("C", number)),
        ]
    assert [len(load) for load in gate.loads] == [1, 6]


async def test_a_load_is_bounded_and_a_large_parcel_goes_alone() -> None:
    gate = Gate()
    gate.opens.set()
    conveyor = Conveyor(gate.carry, lanes=1)
    parcels: list[list[Command]] = [[("A",)] * 700, [("B",)] * 700, [("C",)] * 3_000]

    await asyncio.gather(*(conveyor.send(each, durable=False) for each in parcels))

    assert [len(load) for load in gate.loads] == [700, 700, 3_000]


async def test_one_that_is_cancelled_takes_no_other_with_it() -> None:
    gate = Gate()
    conveyor = Conveyor(gate.carry, lanes=1)
    one, two = (
        asyncio.create_task(conveyor.send([(name,)], durable=True)) for name in "AB"
    )
    await turns()
    one.cancel()
    await turns()
    gate.opens.set()

    assert (await two).replies == [("said", ("B",))]
    assert one.cancelled()


async def test_a_lost_connection_is_said_to_all_of_the_load_and_the_next_goes() -> None:
    gate = Gate()
    gate.fails = True
    conveyor = Conveyor(gate.carry, lanes=1)
    lost = [
        asyncio.create_task(conveyor.send([(name,)], durable=True)) for name in "AB"
    ]
    await turns()
    gate.opens.set()
    for each in lost:
        with pytest.raises(ConnectionResetError):
            await each
    gate.fails = False

    assert (await conveyor.send([("C",)], durable=True)).replies


async def test_a_replica_that_lags_fails_those_alone_that_have_to_be_durable() -> None:
    gate = Gate()
    gate.opens.set()
    gate.fault = "0 of 1"
    conveyor = Conveyor(gate.carry, lanes=1)
    reading, writing = await asyncio.gather(
        conveyor.send([("A",)], durable=False), conveyor.send([("B",)], durable=True)
    )

    assert (reading.fault, writing.fault) == (None, "0 of 1")


async def test_who_still_waits_at_the_end_is_told() -> None:
    gate = Gate()
    conveyor = Conveyor(gate.carry, lanes=1)
    under_way = asyncio.create_task(conveyor.send([("A",)], durable=True))
    await turns()
    waiting = asyncio.create_task(conveyor.send([("B",)], durable=True))
    await turns()
    await conveyor.close()

    for each in (under_way, waiting):
        with pytest.raises(ConnectionError):
            await each


async def test_ms_20_a_burst_on_few_connections_has_each_its_own_place(
    settings: Settings, clock: ManualClock
) -> None:
    few = settings.model_copy(
        update={"redis_connections": 2, "redis_timeout_seconds": 20}
    )
    async with opened(few, clock) as store:
        done = await asyncio.gather(*(committed(store, n) for n in range(300)))
        again = await asyncio.gather(
            *(store.commits.load_commit_for_request(send(n)) for n in range(300))
        )

    assert sorted(each.coordinates.sequence for each in done) == list(range(1, 301))
    assert again == done


async def test_a_store_that_is_closed_says_so(
    settings: Settings, clock: ManualClock
) -> None:
    async with opened(settings, clock) as store:
        waits = asyncio.create_task(store.link.run("wait", ("BLPOP", "nothing", 0)))
        await turns()  # on a lane of its own
        await store.observations.read_probe()
    with pytest.raises(StoreUnavailable):
        await waits
