import assert from "node:assert/strict";
import { test } from "node:test";

import {
  redact,
  redactText,
} from "../../extension_harness/extension/shared/redaction.js";

test("secrets in a text lose their value and keep their key", () => {
  assert.equal(
    redactText("a?ctoken=abc&id=5&_tb_token_=e3#top sign=0A,B"),
    "a?ctoken=[redacted]&id=5&_tb_token_=[redacted]#top sign=[redacted],B",
  );
  assert.equal(
    redactText('{"chatToken" : "x\\"y", "note":"keep"}'),
    '{"chatToken" : "[redacted]", "note":"keep"}',
  );
  assert.equal(
    redactText('{"sign":"x\\\\","note":"keep"}'),
    '{"sign":"[redacted]","note":"keep"}',
  );
});

test("JSON inside JSON loses its secrets, however deep its quotes are escaped", () => {
  const inner = JSON.stringify({ ctoken: "a.b", note: "keep" });
  for (const text of [
    JSON.stringify({ ext: inner }),
    JSON.stringify({ more: JSON.stringify({ ext: inner }) }),
  ]) {
    const clean = redactText(text);
    assert.equal(clean.includes("a.b"), false);
    assert.equal(clean, text.replace("a.b", "[redacted]"));
  }
  assert.equal(
    redactText('cut off: {"sign":"0f'),
    'cut off: {"sign":"[redacted]',
  );
});

test("words that only end like a secret stay", () => {
  for (const text of [
    "design=blue",
    "my_sign=1",
    "resign= now",
    "Sign=1",
    "sign =",
  ]) {
    assert.equal(redactText(text), text);
  }
});

test("secret keys are redacted at any depth, whatever their value", () => {
  const value = {
    list: [
      { token: 7, accountIdEncrypt: { a: 1 }, text: "accessToken=zz done" },
    ],
    encryTradeId: null,
  };
  assert.deepEqual(redact(value), {
    list: [
      {
        token: "[redacted]",
        accountIdEncrypt: "[redacted]",
        text: "accessToken=[redacted] done",
      },
    ],
    encryTradeId: "[redacted]",
  });
  assert.equal(value.list[0].token, 7);
});
