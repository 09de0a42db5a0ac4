"""What is a secret of the page, and what only looks like one."""

import pytest

from bright_server.ingest.secrets import holds_secret
from bright_server.wire.codec import canonical_json


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/?ctoken=a1b2",
        "x&_tb_token_=77ab",
        "chatToken=q",
        '{"secReqToken":"abc"}',
        '{\\"accessToken\\": \\"abc\\"}',
        "refreshToken=%2F",
        "?a=1&sign=0f3",
    ],
)
def test_a_secret_in_a_text_is_found(text: str) -> None:
    assert holds_secret(text, ())
    assert holds_secret(None, (canonical_json({"note": [text]}),))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ctoken=[redacted]&a=1",
        '{"sign":"[redacted]"}',
        "design=5",
        "ctoken=",
        "ctoken is a word, and 1 = 1",
        'he said "sign here"',
        "please sign= here",
    ],
)
def test_a_redacted_an_empty_or_an_ordinary_text_is_none(text: str) -> None:
    assert not holds_secret(text, ())
    assert not holds_secret(None, (canonical_json({"note": [text]}),))


@pytest.mark.parametrize(
    "key",
    [
        "ctoken", "_tb_token_", "chatToken", "token", "sign", "cookie", "cookies",
        "csrf", "_csrf", "encryFeedbackId", "encryTradeId", "activeAccountIdEncrypt",
        "buyerAliIdEncrypt",
    ],
)  # fmt: skip
def test_a_secret_key_is_found_at_any_depth_unless_its_value_is_redacted(
    key: str,
) -> None:
    assert holds_secret("hello", (None, canonical_json({"a": [{"b": {key: "x"}}]})))
    assert holds_secret("hello", (canonical_json({key: 5}),))
    assert not holds_secret("hello", (canonical_json({"a": [{key: "[redacted]"}]}),))
    assert not holds_secret("hello", (canonical_json({key: None}),))
    assert not holds_secret("hello", (canonical_json({"other": key}),))
