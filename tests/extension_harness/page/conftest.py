"""A started page with a small corpus that carries every messy input."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from extension_harness.page.corpus import Corpus
from extension_harness.page.server import SimulatedPage
from tests.extension_harness.page.client import Client

SMALL = Corpus.generate(7, conversations=14, messages=900)


@pytest.fixture
def page() -> Iterator[SimulatedPage]:
    with SimulatedPage(SMALL) as started:
        yield started


@pytest.fixture
def client(page: SimulatedPage) -> Client:
    return Client(page)
