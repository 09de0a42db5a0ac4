"""What is a secret of the page, and what only looks like one."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bright_server.ingest.secrets import holds_secret
from bright_server.wire.text import canonical_json

REDACTION = (
    Path(__file__).parents[3] / "extension_harness/extension/shared/redaction.js"
)
PIECES = (
    "ctoken", "sign", "_tb_token_", "token", "Encrypt", '"', '\\"', '\\\\"', ":", " ",
    "=", "&", "abc", "%2F", "[redacted]", "-", ".", "_", "\\", "'", "{", "}", "\n",
)  # fmt: skip


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
        '"please sign": "now"',
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


def test_what_the_extension_has_redacted_is_never_refused() -> None:
    draw = random.Random(1)  # noqa: S311 - the same texts in every run
    texts = [
        "".join(draw.choices(PIECES, k=draw.randint(2, 12))) for _ in range(20_000)
    ]
    values = [*texts, *({a: b} for a, b in zip(texts, reversed(texts), strict=True))]
    script = (
        f"import {{ redact }} from {json.dumps(REDACTION.as_uri())};"
        'import { readFileSync } from "node:fs";'
        'const values = JSON.parse(readFileSync(0, "utf8"));'
        "console.log(JSON.stringify(values.map(redact)));"
    )
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or "node"
    redacted = subprocess.run(
        [node, "--input-type=module", "--eval", script],
        input=json.dumps(values), capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    for value in json.loads(redacted.stdout):
        assert not holds_secret(None, (canonical_json(value),)), value
