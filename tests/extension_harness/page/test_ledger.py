"""The ledger holds a store against the truth and says what is off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from extension_harness.page.comparing import compare_messages
from extension_harness.page.corpus import Corpus
from extension_harness.page.normal import clean_content, clean_text, content_of
from extension_harness.page.records import LedgerMessage
from extension_harness.page.state import PageState
from extension_harness.page.switches import SwitchBoard
from extension_harness.page.truth import Fault


@pytest.fixture
def state() -> PageState:
    corpus = Corpus.generate(5, conversations=6, messages=300)
    return PageState(corpus, SwitchBoard(), now_ms=lambda: 1_000)


def stored(state: PageState) -> list[dict[str, Any]]:
    return [dict(message.as_dict()) for message in state.ledger.expected()]


def test_a_store_with_every_message_is_equal_whatever_else_it_knows(
    state: PageState,
) -> None:
    rows = [
        {**row, "sequence": 1, "raw": {}, "quote": row.get("quote")}
        for row in stored(state)
    ]

    result = state.ledger.compare(rows)

    assert result.equal, result.as_text()
    assert result.matched == 300


def test_what_is_missing_doubled_or_strange_is_named(state: PageState) -> None:
    rows = stored(state)
    stranger = {**rows[0], "messageId": "1"}

    result = state.ledger.compare([*rows[1:], rows[5], stranger])

    assert [message.as_dict() for message in result.missing] == rows[:1]
    assert [scope[2] for scope in result.duplicates] == [rows[5]["messageId"]]
    assert result.unexpected == (stranger,)
    assert not result.equal
    assert "1 missing, 1 unexpected, 0 different, 1 duplicates" in result.as_text()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("senderId", "1"),
        ("direction", "sideways"),
        ("sentAtMs", 5),
        ("kind", "voice"),
        ("text", "another"),
        ("content", {"url": None}),
        ("quote", {"messageId": "1"}),
        ("recall", {"messageId": "1"}),
    ],
)
def test_each_field_of_the_normal_form_is_compared(
    field: str, value: object, state: PageState
) -> None:
    rows = stored(state)
    rows[3] = {**rows[3], field: value}

    result = state.ledger.compare(rows)

    assert [each.fields for each in result.different] == [(field,)]
    assert result.matched == 299


def test_true_is_not_one_and_key_order_does_not_matter(state: PageState) -> None:
    rows = stored(state)
    at = next(i for i, row in enumerate(rows) if len(row.get("content", {})) > 2)
    content: Mapping[str, object] = rows[at]["content"]
    rows[at]["content"] = dict(reversed(list(content.items())))
    assert state.ledger.compare(rows).equal

    rows[at]["content"] = {**content, next(iter(content)): True}
    assert len(state.ledger.compare(rows).different) == 1


def test_each_invalid_row_needs_its_anomaly_and_no_other_may_stand(
    state: PageState,
) -> None:
    records: list[dict[str, object]] = [
        {"code": a.code, "conversationId": a.conversation_id}
        for a in state.ledger.anomalies()
    ]
    certain = [a for a in state.ledger.anomalies() if a.certain]
    strange = {"code": "missing_message_id", "conversationId": "elsewhere"}

    assert state.ledger.compare_anomalies([*records, *records]).equal
    assert state.ledger.compare_anomalies([*records, strange]).unexpected == (strange,)
    assert len(state.ledger.compare_anomalies([]).missing) == len(certain)


def test_anomalies_have_the_codes_of_the_normal_form(state: PageState) -> None:
    codes = {anomaly.code for anomaly in state.ledger.anomalies()}

    assert codes == {fault.value for fault in Fault} - {"missing_conversation_id"} | {
        "conflict"
    }


def test_secrets_are_out_of_every_expected_message(state: PageState) -> None:
    text = state.ledger.as_json()

    for secret in ("ctoken=abc", "WTB0eHl6", "MC1IDX1", "someone@example.com"):
        assert secret not in text
    assert "ctoken=[redacted]" in text
    assert "design=blue" in text


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("a?ctoken=1&sign=AB#c", "a?ctoken=[redacted]&sign=[redacted]#c"),
        ("design=blue xsign=1 _sign=2", "design=blue xsign=1 _sign=2"),
        ("sign=", "sign="),
        ("sign=[redacted] stays", "sign=[redacted] stays"),
        ('{"sign" : "a\\"b", "x": 1}', '{"sign" : "[redacted]", "x": 1}'),
        ("a\r\nb\rc\x00\ud800", "a\nb\rc\ufffd\ufffd"),
        ("\u200b \u00a0", "\u200b \u00a0"),
    ],
)
def test_texts_are_cleaned_by_the_three_rules(seen: str, expected: str) -> None:
    assert clean_text(seen) == expected
    assert clean_text(expected) == expected


def test_contents_are_redacted_by_key_at_any_depth() -> None:
    seen = {
        "a": [{"chatToken": 1, "loginIdEncrypt": "x", "b": "sign=AB"}],
        "token": None,
    }

    assert clean_content(seen) == {
        "a": [
            {
                "chatToken": "[redacted]",
                "loginIdEncrypt": "[redacted]",
                "b": "sign=[redacted]",
            }
        ],
        "token": "[redacted]",
    }


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (
            "image",
            '{"url":"//a/b?c=d","width":"1"}',
            {"url": "https://a/b", "width": "1"},
        ),
        (
            "file",
            '{"params":{"name":"n"},"name":"m","size":2}',
            {"name": "n", "size": 2},
        ),
        ("product_card", '{"params":{"ids":"1, 2"}}', {"ids": ["1", "2"]}),
        ("product_card", '{"params":{"id":7}}', {"ids": ["7"]}),
        ("order_card", '{"params":{"orderId":"1","params":"no"}}', {"orderId": "1"}),
        ("business_card", None, {"version": 1, "kind": "business_card"}),
        ("inquiry", None, {}),
        ("unknown", '"{oops"', {"text": "{oops"}),
        ("unknown", '{"params":"{\\"a\\":1}"}', {"params": {"a": 1}}),
    ],
)
def test_contents_keep_what_the_normal_form_names(
    kind: str, body: str | None, expected: object
) -> None:
    assert content_of(kind, body) == expected


@pytest.mark.timeout(60)
def test_a_large_store_is_compared_in_linear_time() -> None:
    known = LedgerMessage("1", "1-2#11011@icbu", "", "2", "inbound", 1, "text", "hi")
    expected = {
        message.scope: [message]
        for message in (replace(known, message_id=str(n)) for n in range(60_000))
    }
    rows = [versions[0].as_dict() for versions in expected.values()][::2]

    result = compare_messages(expected, frozenset(expected), rows)

    assert (result.matched, len(result.missing)) == (30_000, 30_000)


def test_the_ledger_knows_each_contact_in_every_version(state: PageState) -> None:
    """M32, M33: renamed contacts keep what they were; placeholders are no companies."""
    chats = state.corpus.conversations
    junk = next(chat for chat in chats if "M33" in chat.codes)
    chat = next(chat for chat in chats if "M33" not in chat.codes)
    profiles = state.ledger.profiles()
    assert set(profiles) == {each.conversation_id for each in chats}
    assert "companyName" not in profiles[junk.conversation_id].profile()

    state.rename(chat.conversation_id, "Another Name")

    versions = state.ledger.profile_versions(chat.conversation_id)
    assert [each.name for each in versions] == [chat.name, "Another Name"]
    assert state.ledger.profiles()[chat.conversation_id].profile() == {
        "name": "Another Name",
        "companyName": chat.company,
        "loginId": chat.login_id,
        "country": chat.country,
        "level": chat.level,
        "portrait": f"https://sc04.alicdn.com/kf/portrait-{chat.number % 12}.svg",
    }
