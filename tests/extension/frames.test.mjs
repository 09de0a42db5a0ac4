import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import {
  packBatch,
  readFrame,
  wireMessage,
} from "../../extension_harness/extension/shared/frames.js";

const EXAMPLES = new URL("../wire_examples/", import.meta.url);
const examples = readdirSync(EXAMPLES)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, EXAMPLES), "utf8")));

test("every golden frame to the extension is read, with all that it says", () => {
  const incoming = examples.filter((each) => each.direction === "toExtension");
  assert.ok(incoming.length >= 12);
  for (const { frame } of incoming) {
    const read = readFrame(JSON.stringify(frame));
    assert.notEqual(read, null, frame.type);
    for (const [name, value] of Object.entries(frame)) {
      assert.deepEqual(read[name], value, `${frame.type}.${name}`);
    }
  }
});

test("what is no frame of ours reads as nothing", () => {
  for (const data of [
    "",
    "{",
    "null",
    "[]",
    "7",
    '{"type":7}',
    '{"type":"toString"}',
    '{"type":"unheard.of"}',
    '{"type":"welcome"}',
    '{"type":"observation.ack","channelAccountId":1,"conversationId":"c","results":[]}',
    '{"type":"observation.ack","channelAccountId":"a","conversationId":"c"}',
    '{"type":"anchor.snapshot"}',
    new ArrayBuffer(3),
  ]) {
    assert.equal(readFrame(data), null, String(data));
  }
});

test("OT-18: of an ACK only results that name a message and a known status are taken", () => {
  const results = [
    null,
    { status: "confirmed" },
    { messageId: "1", status: "perhaps" },
    { messageId: "2", status: "confirmed", candidateKey: 5 },
    { messageId: "3", status: "retry", candidateKey: "k" },
  ];
  const frame = readFrame(
    JSON.stringify({
      type: "observation.ack",
      requestId: "r",
      channelAccountId: "a",
      conversationId: "c",
      results,
    }),
  );
  assert.deepEqual(
    frame.results.map(({ messageId, candidateKey }) => [
      messageId,
      candidateKey,
    ]),
    [
      ["2", null],
      ["3", "k"],
    ],
  );
});

const ENVELOPE = { type: "observation.batch", requestId: "r" };

test("a batch takes what fits into the frame, in order, and says no more bytes", () => {
  const messages = Array.from({ length: 10 }, (_, index) => ({
    part: index,
    wire: { text: "é".repeat(50), index },
  }));
  const { frame, parts, tooLarge } = packBatch(messages, ENVELOPE, 700);
  assert.equal(tooLarge, null);
  assert.ok(parts.length > 1 && parts.length < 10);
  assert.ok(new TextEncoder().encode(frame).length <= 700);
  assert.deepEqual(JSON.parse(frame), {
    ...ENVELOPE,
    messages: messages.slice(0, parts.length).map((each) => each.wire),
  });
});

test("a message that alone does not fit is named, and only when it is the first", () => {
  const small = { part: "small", wire: { text: "a" } };
  const large = { part: "large", wire: { text: "a".repeat(900) } };
  assert.equal(packBatch([large, small], ENVELOPE, 700).tooLarge, "large");
  assert.deepEqual(packBatch([small, large], ENVELOPE, 700).parts, ["small"]);
});

test("the wire form of a message holds nothing of the store's own", () => {
  const candidate = { candidateKey: "k" };
  const message = {
    key: "x",
    channelAccountId: "1",
    contentDigest: "d",
    observedAtMs: 9,
    messageId: "m",
    conversationId: "c",
    senderId: "2",
    direction: "inbound",
    sentAtMs: 5,
    kind: "text",
    text: "hi",
    raw: { surface: "s" },
  };
  assert.deepEqual(Object.keys(wireMessage(candidate, message)), [
    "candidateKey",
    "messageId",
    "conversationId",
    "senderId",
    "direction",
    "sentAtMs",
    "kind",
    "text",
    "raw",
  ]);
});
