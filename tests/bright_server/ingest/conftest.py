"""A session before its hello, and an open one."""

import pytest

from bright_server.ingest.session import ExtensionSession
from tests.bright_server.ingest.talk import new_session, opened_session


@pytest.fixture
def session() -> ExtensionSession:
    return new_session()


@pytest.fixture
def opened() -> ExtensionSession:
    return opened_session()
