"""What is wrong with pages, as an operator sees it: a real server, real sockets."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.bright_server.frames import ACCOUNT, Frame, register_page
from tests.bright_server.processes import (
    DEADLINE_SECONDS,
    Server,
    bright,
    bright_status,
    serving,
)

CREDENTIAL = "an operator's secret"


@pytest.fixture
def credential(tmp_path: Path) -> Path:
    file = tmp_path / "operator"
    file.write_text(f"{CREDENTIAL}\n", encoding="ascii")
    return file


@pytest.fixture
async def server(database: Path, token: str, credential: Path) -> AsyncIterator[Server]:
    assert token
    async with serving(database, operator_credential_file=credential) as server:
        yield server


def health(*troubles: str, page: str = "page-1", **fields: object) -> Frame:
    return {
        "type": "page.health",
        "pageId": page,
        "channelAccountId": ACCOUNT,
        "isOpen": True,
        "troubles": list(troubles),
        **fields,
    }


def _get(server: Server, path: str, credential: str | None) -> tuple[int, str]:
    headers = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    request = urllib.request.Request(f"http://{server.address}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.read().decode()


async def shown(server: Server) -> dict[str, Any]:
    status, text = await asyncio.to_thread(_get, server, "/v1/pages", CREDENTIAL)
    assert status == 200, text
    told: dict[str, Any] = json.loads(text)
    return told


def codes(page: dict[str, Any]) -> list[str]:
    return [each["code"] for each in page["troubles"]]


async def test_p1_what_is_wrong_with_a_page_is_shown_until_it_is_well_or_gone(
    server: Server, token: str
) -> None:
    """P1, OT-63: since when, by device; a page that is gone or well is no trouble."""
    async with server.extension() as extension:
        await extension.greet(token, deviceId="device-1")
        await extension.ask(register_page())
        await extension.send(health("login_lost", "a_later_word"))
        await extension.ask(register_page())  # the answer comes after the frame before
        (page,) = (await shown(server))["pages"]
        assert page["channelAccountId"] == ACCOUNT
        assert page["deviceId"] == "device-1"
        assert codes(page) == ["login_lost", "a_later_word"]
        since = page["troubles"][0]["sinceMs"]

        await extension.send(health("login_lost"))
        await extension.ask(register_page())
        (page,) = (await shown(server))["pages"]
        assert page["troubles"] == [{"code": "login_lost", "sinceMs": since}]
        _, text = await asyncio.to_thread(_get, server, "/metrics", None)
        assert 'bright_pages_in_trouble{trouble="login_lost"} 1.0' in text
        assert 'bright_pages_in_trouble{trouble="other"} 0.0' in text

        await extension.send(health())
        await extension.ask(register_page())
        assert [codes(each) for each in (await shown(server))["pages"]] == [[]]
        await extension.send(health(isOpen=False))
        await extension.ask(register_page("page-2"))
        assert [each["pageId"] for each in (await shown(server))["pages"]] == ["page-2"]
    async with asyncio.timeout(DEADLINE_SECONDS):
        # The connection is gone, and its pages with it.
        while (await shown(server))["total"]:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


async def test_p7_a_page_of_which_nobody_knows_whose_it_is_is_shown(
    server: Server, token: str
) -> None:
    """P7: an orphaned tab cannot say its account; it is the connection's alone."""
    async with server.extension() as extension:
        await extension.greet(token)
        await extension.send(
            health("needs_reload", page="tab-7", channelAccountId=None)
        )
        await extension.ask(register_page())
        first, second = (await shown(server))["pages"]
        assert (first["pageId"], first["channelAccountId"]) == ("tab-7", None)
        assert codes(first) == ["needs_reload"]
        assert codes(second) == []


async def test_ot_60_of_another_account_nothing_is_taken(
    server: Server, token: str
) -> None:
    """OT-60: a binding tells of its own accounts' pages only."""
    async with server.extension() as extension:
        await extension.greet(token)
        refused = await extension.ask(health("page_dead", channelAccountId="999"))
        assert (refused["type"], refused["code"]) == ("ws.error", "out_of_scope")
        assert (await shown(server))["total"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"troubles": ["Not A Word"]},
        {"troubles": ["x" * 65]},
        {"troubles": [f"t{n}" for n in range(17)]},
        {"troubles": "login_lost"},
        {"isOpen": "yes"},
        {"pageId": ""},
    ],
)
async def test_what_is_no_health_of_a_page_is_refused(
    server: Server, token: str, wrong: Frame
) -> None:
    async with server.extension() as extension:
        await extension.greet(token)
        refused = await extension.ask(health("page_dead", **wrong))
        assert refused["code"] == "invalid_frame"
        assert refused["path"].split(".")[0] == next(iter(wrong))


async def test_an_operator_sees_it_and_nobody_else(
    server: Server, token: str, credential: Path
) -> None:
    """P3: by `bright pages`, which ends with 1 while a page is in trouble."""
    for given in (None, "another"):
        status, text = await asyncio.to_thread(_get, server, "/v1/pages", given)
        assert (status, json.loads(text)["code"]) == (401, "credential_refused")
    ask = ["pages", f"--server=http://{server.address}"]
    environment = {"BRIGHT_OPERATOR_CREDENTIAL_FILE": str(credential)}
    async with server.extension() as extension:
        await extension.greet(token, deviceId="device-1")
        await extension.ask(register_page())
        told = await bright(*ask, env=environment)
        assert told == f"{ACCOUNT}  well  device-1  page-1\n"
        await extension.send(health("page_dead"))
        await extension.ask(register_page())
        status, _, _ = await bright_status(*ask, env=environment)
        assert status == 1


async def test_what_a_page_calls_itself_does_nothing_to_the_terminal(
    server: Server, token: str, credential: Path
) -> None:
    """An escape or a line's end in a page's or a device's id is shown spelled."""
    ask = ["pages", f"--server=http://{server.address}"]
    environment = {"BRIGHT_OPERATOR_CREDENTIAL_FILE": str(credential)}
    async with server.extension() as extension:
        await extension.greet(token, deviceId="device\x1b[2J")
        await extension.ask(register_page(pageId="page\n1"))
        told = await bright(*ask, env=environment)
        assert told == f"{ACCOUNT}  well  device\\x1b[2J  page\\n1\n"
