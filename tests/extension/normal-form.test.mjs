import assert from "node:assert/strict";
import { test } from "node:test";

import {
  canonicalJson,
  digestOf,
  readObservation,
} from "../../extension_harness/extension/shared/normal-form.js";

const ASKED = { channelAccountId: "1", conversationId: "c" };
const GOOD = {
  surface: "s",
  messageId: "m",
  conversationId: "c",
  senderId: "2",
  direction: "inbound",
  sentAtMs: 5,
  kind: "text",
  text: "",
};

function codeOf(changes, asked = ASKED) {
  const seen = changes === null ? null : { ...GOOD, ...changes };
  return readObservation(seen, asked).code;
}

test("a message with every required field is a fact, an empty text included", () => {
  const { fact } = readObservation(GOOD, ASKED);
  assert.deepEqual(fact, {
    messageId: "m",
    conversationId: "c",
    senderId: "2",
    direction: "inbound",
    sentAtMs: 5,
    kind: "text",
    text: "",
  });
});

test("OT-32: what lacks a required field is an anomaly with the first fault's code", () => {
  const all = {
    messageId: "",
    conversationId: null,
    senderId: undefined,
    sentAtMs: NaN,
  };
  assert.equal(codeOf(null), "not_an_object");
  assert.equal(codeOf({ notAnObject: null }), "not_an_object");
  assert.equal(codeOf(all), "missing_message_id");
  assert.equal(codeOf({ ...all, messageId: "m" }), "missing_conversation_id");
  assert.equal(
    codeOf({ conversationId: "d", senderId: "" }),
    "foreign_conversation",
  );
  assert.equal(
    codeOf({ senderId: undefined, sentAtMs: 0 }),
    "missing_sender_id",
  );
  for (const sentAtMs of [0, -1, NaN, 1.5, undefined, "5", 1e15]) {
    assert.equal(codeOf({ sentAtMs }), "invalid_sent_at");
  }
});

test("ids that cannot be stored or named are anomalies", () => {
  const nul = String.fromCharCode(0);
  for (const messageId of ["9".repeat(257), `4${nul}`, "4\ud83d", 12]) {
    assert.equal(codeOf({ messageId }), "invalid_id");
  }
  const wide = "\u0001".repeat(200);
  assert.equal(codeOf({ messageId: wide }), "invalid_id");
});

test("an anomaly keeps what was seen, redacted and cut", () => {
  const seen = {
    ...GOOD,
    senderId: "",
    raw: { token: "x", text: "ab".repeat(4_000) },
  };
  const { observed } = readObservation(seen, ASKED);
  assert.equal(JSON.stringify(observed).includes('"x"'), false);
  assert.ok(JSON.stringify(observed).length < 5_000);
});

test("equal content has an equal digest, whatever the order of its keys", async () => {
  const left = { a: 1, b: { c: [1, null], d: undefined } };
  const right = { b: { c: [1, null] }, a: 1 };
  assert.equal(canonicalJson(left), '{"a":1,"b":{"c":[1,null]}}');
  assert.equal(await digestOf(left), await digestOf(right));
  assert.notEqual(await digestOf(left), await digestOf({ a: "1", b: left.b }));
});

test("what is nested too deeply blocks nothing: raw is left out, content is an anomaly", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`);
  assert.equal(codeOf({ kind: "unknown", content: deep }), "too_deep");
  assert.equal(codeOf({ messageId: undefined, content: deep }), "too_deep");
  const read = readObservation({ ...GOOD, raw: deep }, ASKED);
  assert.equal(read.fact.messageId, "m");
  assert.equal("raw" in read, false);
});
