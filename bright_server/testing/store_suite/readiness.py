"""Readiness is proven by a write, not said (MS-15)."""

from __future__ import annotations

from functools import partial
from unittest import SkipTest

from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import refused
from bright_server.testing.sends import (
    DELIVERY,
    Everybody,
    candidate_of,
    committed,
    sending,
)
from bright_server.testing.under_test import CanBeUnwritable, StoreUnderTest


class ReadinessSuite:
    """Store, log and back end know whether a commit could be made now."""

    async def test_readiness_is_proven(self, stores: StoreUnderTest) -> None:
        """MS-15: by store and log, and without leaving anything behind."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            await backend.commits.readiness()
            await backend.publisher.readiness()
            await backend.prove_writable()
            message = await committed(backend, sending())
            assert message.coordinates.sequence == 1
            assert len(await stores.published(backend)) == 1

    async def test_a_store_that_cannot_be_written_is_not_ready(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-15: nor is its log, nor the back end; and all are once it can be again."""
        if not isinstance(stores, CanBeUnwritable):
            raise SkipTest(
                "NOT CERTIFIED: that readiness notices a database that cannot be"
                " written (MS-15). The store under test has no `unwritable`"
            )
        async with stores.opened(ManualClock(), Everybody()) as backend:
            proofs = {
                "commits.readiness": (backend.commits.readiness, StoreUnavailable),
                "prove_writable": (backend.prove_writable, StoreUnavailable),
                "publisher.readiness": (
                    backend.publisher.readiness,
                    PublicationNotDurable,
                ),
            }
            async with stores.unwritable(backend):
                for name, (prove, error) in proofs.items():
                    with refused(error, where=f"by {name}"):
                        await prove()
                # It is so: otherwise there was nothing to be noticed.
                reserve = partial(backend.commits.reserve, sending(), DELIVERY)
                with refused(StoreUnavailable):
                    await reserve(candidate_of(sending()))
            for prove, _ in proofs.values():
                await prove()
            message = await committed(backend, sending())
            assert message.coordinates.sequence == 1
