import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Uplink } from "../../extension_harness/extension/background/uplink.js";
import {
  candidateKey,
  messageKey,
} from "../../extension_harness/extension/shared/keys.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import {
  CANDIDATES,
  MESSAGES,
} from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";

const LIMITS = {
  maxFrameBytes: 100_000,
  maxBatchMessages: 10,
  maxInFlightBatches: 1,
};

let database;
let sent;
let uplink;

beforeEach(() => {
  database = new MemoryStore();
  sent = [];
  let requests = 0;
  uplink = new Uplink({
    database,
    connection: {
      welcome: { accounts: ["1", "2"], limits: LIMITS },
      bufferedBytes: 0,
      nextRequestId: () => `r-${(requests += 1)}`,
      send: (frame) => sent.push(JSON.parse(frame)),
    },
    clock: new ManualClock(),
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

async function until(holds) {
  for (let turn = 0; turn < 1_000 && !holds(); turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(holds());
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
  await until(() => sent.length === 1);
  await acknowledge(sent[0]);
  await until(() => sent.length === 2);

  const accounts = sent.map((frame) => frame.channelAccountId);
  assert.deepEqual(accounts.sort(), ["1", "2"]);
});

test("a candidate whose message is missing is parked, and what follows goes up", async () => {
  pending("1", "c", 1, false);
  pending("1", "c", 2);
  uplink.start();
  await until(() => sent.length === 1);

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
  await until(() => sent.length === 1);

  assert.equal(sent[0].conversationId, "d");
  assert.equal(database.all(CANDIDATES)[0].status, "rejected");
});
