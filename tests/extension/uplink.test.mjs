import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Uplink } from "../../extension_harness/extension/background/uplink.js";
import {
  candidateKey,
  conversationKey,
  messageKey,
} from "../../extension_harness/extension/shared/keys.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import {
  CANDIDATES,
  CHECKPOINTS,
  MESSAGES,
} from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const LIMITS = {
  maxFrameBytes: 100_000,
  maxBatchMessages: 10,
  maxInFlightBatches: 1,
};

let clock;
let database;
let isClosing;
let sent;
let tries;
let uplink;

beforeEach(() => {
  clock = new ManualClock();
  database = new MemoryStore();
  sent = [];
  isClosing = false;
  tries = 0;
  let requests = 0;
  uplink = new Uplink({
    database,
    connection: {
      welcome: { accounts: ["1", "2"], limits: LIMITS },
      bufferedBytes: 0,
      nextRequestId: () => `r-${(requests += 1)}`,
      send: (frame) => {
        tries += 1;
        return !isClosing && sent.push(JSON.parse(frame)) > 0;
      },
    },
    clock,
    random: () => 0.5,
    settings: () => settingsFrom({}),
    applied: () => {},
    failed: (error) => assert.fail(error),
  });
});

function pending(account, conversation, id, hasMessage = true) {
  const scope = { channelAccountId: account, conversationId: conversation };
  database.fill(CANDIDATES, {
    ...scope,
    candidateKey: candidateKey(account, conversation, id, String(id)),
    messageId: String(id),
    sentAtMs: id,
    status: "pending_ack",
    observedAtMs: id,
  });
  if (!hasMessage) return;
  database.fill(MESSAGES, {
    ...scope,
    key: messageKey(account, conversation, String(id)),
    messageId: String(id),
    sentAtMs: id,
  });
}

function acknowledge(batch) {
  const { requestId, channelAccountId, conversationId, messages } = batch;
  const results = messages.map((each) => ({ ...each, status: "confirmed" }));
  return uplink.acknowledge({
    requestId,
    channelAccountId,
    conversationId,
    results,
  });
}

test("the backlog of one account does not keep another's waiting", async () => {
  for (let id = 1; id <= 9; id += 1) pending("1", `c${id}`, id);
  pending("2", "d", 10);
  uplink.start();
  await until(() => sent.length === 1, "batches are sent");
  await acknowledge(sent[0]);
  await until(() => sent.length === 2, "batches are sent");

  const accounts = sent.map((frame) => frame.channelAccountId);
  assert.deepEqual(accounts.sort(), ["1", "2"]);
});

test("a socket that is closing is tried once; the next welcome sends", async () => {
  pending("1", "c", 1);
  isClosing = true;
  uplink.start();
  await until(() => tries === 1, "a batch is tried");
  for (let turn = 0; turn < 500; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(tries, 1);

  isClosing = false;
  uplink.start();
  await until(() => sent.length === 1, "batches are sent");
});

test("a candidate whose message is missing is parked, and what follows goes up", async () => {
  pending("1", "c", 1, false);
  pending("1", "c", 2);
  uplink.start();
  await until(() => sent.length === 1, "batches are sent");

  assert.deepEqual(
    sent[0].messages.map((each) => each.messageId),
    ["2"],
  );
  const [parked] = database.all(CANDIDATES);
  assert.deepEqual(
    [parked.status, parked.code],
    ["rejected", "message_missing"],
  );
});

test("a conversation of which no message is left is not looked at for ever", async () => {
  pending("1", "c", 1, false);
  pending("1", "d", 2);
  uplink.start();
  await until(() => sent.length === 1, "batches are sent");

  assert.equal(sent[0].conversationId, "d");
  assert.equal(database.all(CANDIDATES)[0].status, "rejected");
});

test("OT-51: what a lost connection left unanswered goes again on the next", async () => {
  pending("1", "c", 1);
  uplink.start();
  await until(() => sent.length === 1, "batches are sent");
  uplink.halt();
  uplink.start();
  await until(() => sent.length === 2, "batches are sent");

  const ids = sent.map((frame) => frame.messages.map((each) => each.messageId));
  assert.deepEqual(ids, [["1"], ["1"]]);
  assert.notEqual(sent[0].requestId, sent[1].requestId);
});

test("OT-06: what may be tried later stays pending, and goes again", async () => {
  pending("1", "c", 1);
  uplink.start();
  await until(() => sent.length === 1, "batches are sent");
  const { requestId } = sent[0];
  const overloaded = { code: "overloaded", retryable: true, requestId };
  assert.equal(await uplink.refuse(overloaded), true);

  assert.equal(database.all(CANDIDATES)[0].status, "pending_ack");
  clock.pass(60_000);
  await until(() => sent.length === 2, "batches are sent");
  assert.equal(sent[1].messages[0].messageId, "1");
});

test("OT-04: a batch says its scope, how it was read, and when it was seen", async () => {
  database.fill(CHECKPOINTS, {
    key: conversationKey("1", "c"),
    channelAccountId: "1",
    conversationId: "c",
    syncMode: "incremental",
  });
  pending("1", "c", 1);
  pending("1", "c", 2);
  uplink.start();
  await until(() => sent.length === 1, "a batch is sent");

  const { channelAccountId, conversationId, mode, receivedAtMs } = sent[0];
  assert.deepEqual(
    [channelAccountId, conversationId, mode, receivedAtMs],
    ["1", "c", "incremental", 2],
  );
});
