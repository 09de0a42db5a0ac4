"""What the surfaces serve, read by the normal form, is what the ledger says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from extension_harness.page.server import SimulatedPage
from extension_harness.page.truth import Conversation
from tests.extension_harness.page.client import PATHS, Client
from tests.extension_harness.page.reader import (
    Anomaly,
    Asked,
    normal_cid,
    read,
    read_time,
)

SURFACES = sorted(PATHS)


def asked(page: SimulatedPage, chat: Conversation) -> Asked:
    own = {page.corpus.account} | {c.seller_id for c in page.corpus.conversations}
    return Asked(page.corpus.account, chat.conversation_id, frozenset(own))


def is_of(row: dict[str, Any], chat: Conversation) -> bool:
    """A foreign row's time must not move the cursor: it would skip what is between."""
    named = row.get("conversationId") or row.get("conversationCode") or row.get("cid")
    return named is None or normal_cid(named) == chat.conversation_id


def walk(client: Client, surface: str, chat: Conversation) -> list[Any]:
    """Page through a history: inclusive cursors, wider where nothing moves."""
    rows: list[Any] = []
    cursor, count = None, 20
    while True:
        page, has_more = client.history(surface, chat, cursor, count)
        rows += page
        if not has_more:
            return rows
        times = [
            read_time(row[key])
            for row in page
            if isinstance(row, dict) and is_of(row, chat)
            for key in ("sendTime", "createAt", "gmtChatLong", "gmtChat")
            if key in row
        ]
        oldest = min((time for time in times if time), default=cursor)
        count = 20 if oldest != cursor else count * 2
        assert count <= 200, f"{surface} stands still at {cursor}"
        cursor = oldest


@pytest.mark.parametrize("surface", SURFACES)
def test_a_walk_over_every_history_reads_exactly_the_ledger(
    surface: str, page: SimulatedPage, client: Client
) -> None:
    facts: dict[tuple[str, str], Any] = {}
    anomalies: Counter[tuple[str, str]] = Counter()
    conflicts = []
    for chat in page.corpus.conversations:
        rows = walk(client, surface, chat)
        for seen in {repr(row): row for row in rows}.values():
            found = read(surface, seen, asked(page, chat))
            if isinstance(found, Anomaly):
                anomalies[found.code, chat.conversation_id] += 1
                continue
            first = facts.setdefault((chat.conversation_id, found["messageId"]), found)
            if first != found:
                conflicts.append(found["messageId"])

    result = page.ledger.compare(facts.values())
    records = [
        {"code": code, "conversationId": chat}
        for (code, chat), count in anomalies.items()
        for _ in range(count)
    ]
    assert result.equal, result.as_text()
    assert result.matched == 900
    assert page.ledger.compare_anomalies(records).equal
    assert page.ledger.unserved() == []
    edited = {row.message_id for row in page.corpus.messages() if row.edited_text}
    assert set(conflicts) <= edited


@pytest.mark.parametrize("surface", SURFACES)
def test_each_chance_to_observe_is_recorded_when_it_was_served(
    surface: str, page: SimulatedPage, client: Client
) -> None:
    chat = page.corpus.conversations[3]
    assert page.ledger.observable() == []

    client.history(surface, chat, None, 5)
    client.history(surface, chat, None, 5)

    chances = page.ledger.observable()
    assert {chance.surface for chance in chances} == {surface}
    assert {chance.times for chance in chances} == {2}
    assert 4 <= len(chances) <= 5


def test_m02_one_message_has_several_spellings_of_its_id(client: Client) -> None:
    spelled: Counter[str] = Counter()
    for surface in SURFACES:
        for row in client.history(surface, client.page.corpus.conversations[0], None)[
            0
        ]:
            value = row.get("messageId") if isinstance(row, dict) else None
            pnm = ".PNM" if str(value).endswith(".PNM") else ""
            spelled[type(value).__name__ + pnm] += 1

    assert {"int", "str", "str.PNM"} <= set(spelled)


def test_m03_the_conversation_is_spelt_in_four_ways(client: Client) -> None:
    chat = client.page.corpus.conversations[0]
    rows, _ = client.history("sdk", chat, None, 40)
    codes = {row.get("cid") or row.get("conversationCode") for row in rows if row}
    unread = client.form("/message/manager/unread.htm", {})["data"]["list"]

    assert len(codes) == 4
    assert all(not row["cid"].endswith("@icbu") for row in unread)


def test_m07_order_differs_between_the_surfaces(client: Client) -> None:
    chat = client.page.corpus.conversations[2]
    recent, _ = client.history("http_recent", chat, None, 12)
    legacy, _ = client.history("http_legacy", chat, None, 12)
    sdk, _ = client.history("sdk", chat, None, 12)
    ids = [str(row["messageId"]).removesuffix(".PNM") for row in recent]
    uuids = [row.get("uuid", row.get("requestMessageId")) for row in legacy]

    assert ids == uuids[::-1]
    assert [str(row.get("messageId")) for row in sdk] != ids


def test_m08_code_list_key_and_cursor_change_their_form(client: Client) -> None:
    forms = set()
    for chat in client.page.corpus.conversations[:6]:
        answer = client.form(
            PATHS["http_recent"], {"conversationId": chat.page_cid, "count": 2}
        )
        lists = [key for key, value in answer["data"].items() if type(value) is list]
        cursor = type(answer["data"]["nextPointTimeStamp"]).__name__
        forms.add((type(answer["code"]).__name__, lists[0], cursor))

    assert {form[0] for form in forms} == {"int", "str"}
    assert {form[1] for form in forms} == {"list", "messageList", "dataList"}
    assert {"int", "str"} <= {form[2] for form in forms}


def test_m08_a_page_is_empty_once_and_still_promises_more(client: Client) -> None:
    chat = client.page.corpus.conversations[3]
    rows, _ = client.history("http_recent", chat, None, 5)
    cursor = rows[-1]["sendTime"]

    assert client.history("http_recent", chat, cursor) == ([], True)
    assert client.history("http_recent", chat, cursor)[0]


def test_the_newest_page_is_the_same_for_every_first_cursor(client: Client) -> None:
    chat = client.page.corpus.conversations[2]
    now = client.page.state.now_ms()
    pages = [
        [row["messageId"] for row in client.history("http_recent", chat, cursor)[0]]
        for cursor in (None, now, now + 86_400_000, 2**53 - 1)
    ]

    assert pages[0] == pages[1] == pages[2] == pages[3]


def test_cursors_are_inclusive_so_that_the_edge_comes_again(client: Client) -> None:
    chat = client.page.corpus.conversations[2]
    first, _ = client.history("http_recent", chat, None, 10)
    second, _ = client.history("http_recent", chat, first[-1]["sendTime"], 10)

    assert second[0]["messageId"] == first[-1]["messageId"]


def test_m24_the_read_flag_flips_and_nothing_else(client: Client) -> None:
    chat = client.page.corpus.conversations[2]
    seen = []
    for _ in range(3):
        rows, _ = client.history("http_recent", chat, None, 3)
        seen.append([row.pop("contactRead") for row in rows] and rows)
    flags = {
        row["contactRead"]
        for _ in range(4)
        for row in client.history("http_recent", chat, None, 3)[0]
    }

    assert seen[0] == seen[1] == seen[2]
    assert flags == {True, False}


def test_m35_the_list_is_complete_though_it_moves_while_it_is_paged(
    client: Client,
) -> None:
    found, repeated, cursor = set(), 0, None
    while True:
        page = client.form(
            "/__simulator__/sdk/conversations", {"cursor": cursor, "count": 5}
        )
        for row in page["list"]:
            cid = row.get("cid") or row["conversationCode"]
            repeated += cid in found
            found.add(cid)
        if not page["hasMore"]:
            break
        cursor = page["nextCursor"]

    assert len(found) == 14
    assert repeated > 0


def test_m33_contacts_come_in_another_order_and_with_hidden_metrics(
    client: Client,
) -> None:
    rows = client.page._serving.full_list()
    asked_for = [row["contact"]["aliIdEncrypt"] for row in rows[:4]][::-1]  # type: ignore[index]
    answer = client.form(
        "/message/listRecentConversationContactDetail.htm",
        {"contactEncryptAliIdList": asked_for},
    )
    token = rows[0]["contact"]["accountIdEncrypt"]  # type: ignore[index]
    path = "/jsonp/customerPluginQueryServiceI/queryCustomerInfo.json"
    _, _, script = client.fetch(
        f"{path}?buyerAccountId={token}&secReqToken=x&callback=cb1"
    )
    _, _, without = client.fetch(f"{path}?buyerAccountId={token}&callback=cb1")

    details = answer["data"]["contactDetailList"]
    assert [row["aliIdEncrypt"] for row in details] != asked_for
    assert sorted(row["aliIdEncrypt"] for row in details) == sorted(asked_for)
    assert "cb1" in script
    assert '"validRfqCount": -1' in script
    assert '"buyerInfo": {}' in without


def test_m31_the_sub_accounts_are_told_by_the_page(client: Client) -> None:
    answer = client.form("/message/manager/getSubAccountList.htm", {})
    owners = {chat.seller_id for chat in client.page.corpus.conversations}

    assert {row["aliId"] for row in answer["data"]} == owners - {"2500000000001"}
