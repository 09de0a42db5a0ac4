import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Claims } from "../../extension_harness/extension/background/claims.js";
import { needsWalk } from "../../extension_harness/extension/background/walks.js";
import {
  candidateKey,
  conversationKey,
  messageKey,
} from "../../extension_harness/extension/shared/keys.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import {
  applyResults,
  reoffer,
} from "../../extension_harness/extension/store/deliveries.js";
import {
  CANDIDATES,
  CHECKPOINTS,
  MESSAGES,
} from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "1";
const CONVERSATION = "1-2";
const SCOPE = { channelAccountId: ACCOUNT, conversationId: CONVERSATION };

const RETRY_MS = settingsFrom({}).claimRetryMs;

let clock;
let connection;
let database;
let claims;
let sent;
let told;

beforeEach(() => {
  clock = new ManualClock();
  database = new MemoryStore();
  sent = [];
  told = [];
  connection = {
    welcome: { accounts: [ACCOUNT] },
    send: (frame) => sent.push(frame),
  };
  claims = new Claims({
    database,
    connection,
    clock,
    settings: () => settingsFrom({}),
    reoffered: () => told.push("reoffered"),
    behind: () => told.push("behind"),
    completed: () => told.push("completed"),
    failed: (error) => told.push(error),
  });
});

const checkpoint = () => database.all(CHECKPOINTS)[0];

function keep(messageId, status, code) {
  const sentAtMs = Number(messageId);
  database.fill(MESSAGES, {
    ...SCOPE,
    key: messageKey(ACCOUNT, CONVERSATION, messageId),
    messageId,
    sentAtMs,
  });
  database.fill(CANDIDATES, {
    ...SCOPE,
    candidateKey: candidateKey(ACCOUNT, CONVERSATION, sentAtMs, messageId),
    messageId,
    status,
    ...(code ? { code } : {}),
  });
}

function confirmedUpTo(messageId, changes = {}) {
  keep(messageId, "confirmed");
  database.fill(CHECKPOINTS, {
    ...SCOPE,
    key: conversationKey(ACCOUNT, CONVERSATION),
    phase: "uploading",
    syncMode: "full",
    anchorState: "none",
    anchorMessageId: null,
    historyComplete: true,
    latestMessageId: messageId,
    latestCandidateKey: candidateKey(
      ACCOUNT,
      CONVERSATION,
      Number(messageId),
      messageId,
    ),
    latestMessageAtMs: 10,
    scannedActivityMs: 10,
    completionSent: false,
    result: null,
    ...changes,
  });
}

const anchor = (latestMessageId) => ({ ...SCOPE, latestMessageId });

test("OT-50: the anchor that matches the claim completes the conversation", async () => {
  confirmedUpTo("10");
  await claims.consider(ACCOUNT, CONVERSATION);
  await claims.anchored([anchor("10")]);

  assert.equal(sent[0].latestMessageId, "10");
  assert.equal(checkpoint().phase, "completed");
  assert.deepEqual(told, ["completed"]);
});

test("OT-50: a claim that was sent is no proof, and an anchor of nothing claimed is none", async () => {
  confirmedUpTo("10");
  await claims.anchored([anchor("10")]);
  assert.equal(checkpoint().phase, "uploading");

  await claims.consider(ACCOUNT, CONVERSATION);
  const { anchorMessageId, completionSent, phase } = checkpoint();
  assert.deepEqual(
    [phase, completionSent, anchorMessageId],
    ["uploading", true, null],
  );
});

test("OT-50: an anchor of an older message completes nothing", async () => {
  keep("9", "confirmed");
  confirmedUpTo("10");
  await claims.consider(ACCOUNT, CONVERSATION);
  await claims.anchored([anchor("9")]);

  assert.equal(checkpoint().phase, "uploading");
  assert.deepEqual(told, []);
});

test("OT-50, OT-51: a claim that nobody answers is said again after its time, and again", async () => {
  confirmedUpTo("10");
  await claims.consider(ACCOUNT, CONVERSATION);
  clock.pass(RETRY_MS - 1);
  assert.equal(sent.length, 1);

  clock.pass(1);
  await until(() => sent.length === 2, "it is said again");
  await until(() => clock.pending === 1, "its answer is awaited again");
  clock.pass(RETRY_MS);
  await until(() => sent.length === 3, "and again");
});

test("OT-50: a claim that is answered, or whose connection is gone, is awaited no more", async () => {
  confirmedUpTo("10");
  await claims.consider(ACCOUNT, CONVERSATION);
  await claims.anchored([anchor("10")]);
  clock.pass(RETRY_MS);
  assert.equal(sent.length, 1);
  assert.equal(clock.pending, 0);

  confirmedUpTo("10");
  await claims.consider(ACCOUNT, CONVERSATION);
  claims.halt();
  assert.equal(clock.pending, 0);
});

test("OT-43: nothing is claimed before the end, or while anything waits or may be missing", async () => {
  for (const changes of [
    { historyComplete: false },
    { isBehind: true },
    { anchorState: "not_found" },
    { phase: "completed" },
  ]) {
    confirmedUpTo("10", changes);
    await claims.consider(ACCOUNT, CONVERSATION);
    assert.deepEqual(sent, [], JSON.stringify(changes));
  }
  for (const status of ["pending_ack", "awaiting_anchor"]) {
    confirmedUpTo("10");
    keep("11", status);
    await claims.consider(ACCOUNT, CONVERSATION);
    assert.deepEqual(sent, [], status);
  }
  keep("11", "rejected");
  await claims.consider(ACCOUNT, CONVERSATION);
  assert.equal(sent.length, 1);
});

test("a claim that another device's newer anchor answers has the history walked again", async () => {
  confirmedUpTo("10");
  await claims.consider(ACCOUNT, CONVERSATION);
  assert.equal(needsWalk(checkpoint()), false);

  await claims.anchored([anchor("11")]);
  await claims.anchored([anchor("11")]);

  assert.equal(checkpoint().phase, "uploading");
  assert.equal(needsWalk(checkpoint()), true);
  assert.deepEqual(told, ["behind"]);
});

test("an anchor that answers no claim of ours changes nothing", async () => {
  confirmedUpTo("10");
  await claims.anchored([anchor("11")]);

  assert.deepEqual(told, []);
  assert.equal(needsWalk(checkpoint()), false);
});

test("a completed conversation that Bright knows more of is walked, not sent again", async () => {
  confirmedUpTo("10", { phase: "completed", anchorMessageId: "10" });
  await claims.compare(ACCOUNT, [
    { conversationId: CONVERSATION, anchor: { latestMessageId: "11" } },
  ]);

  assert.deepEqual(told, ["behind"]);
  assert.equal(needsWalk(checkpoint()), true);
  assert.equal(database.all(CANDIDATES)[0].status, "confirmed");
});

test("a completed conversation that Bright has lost, or an older state of, goes again", async () => {
  for (const known of [null, { latestMessageId: "9" }]) {
    keep("9", "confirmed");
    confirmedUpTo("10", { phase: "completed", anchorMessageId: "10" });
    claims.reset();
    await claims.compare(ACCOUNT, [
      { conversationId: CONVERSATION, anchor: known },
    ]);

    assert.equal(told.pop(), "reoffered");
    const states = database.all(CANDIDATES).map((each) => each.status);
    assert.deepEqual(states, ["pending_ack", "pending_ack"]);
  }
});

test("a newest message in conflict is claimed, for Bright has it", async () => {
  confirmedUpTo("10");
  keep("11", "pending_ack");
  const result = { candidateKey: null, messageId: "11", status: "conflict" };
  await applyResults(database, ACCOUNT, CONVERSATION, [result], 1);
  await claims.consider(ACCOUNT, CONVERSATION);
  await claims.anchored([anchor("11")]);

  assert.equal(sent[0].latestMessageId, "11");
  assert.equal(checkpoint().phase, "completed");
});

test("a newest message that was rejected is not claimed, and holds nothing up", async () => {
  confirmedUpTo("10");
  keep("11", "pending_ack");
  const result = { candidateKey: null, messageId: "11", status: "rejected" };
  await applyResults(database, ACCOUNT, CONVERSATION, [result], 1);
  await claims.consider(ACCOUNT, CONVERSATION);
  await claims.anchored([anchor("10")]);

  assert.equal(checkpoint().phase, "completed");
});

test("another store gets conflicts again, too, and nothing that was rejected", async () => {
  confirmedUpTo("10");
  keep("11", "anomaly", "conflict");
  keep("12", "rejected", "too_large");

  assert.equal(await reoffer(database, ACCOUNT, null), 2);

  const states = database
    .all(CANDIDATES)
    .map(({ status, code }) => [status, code]);
  assert.deepEqual(states, [
    ["pending_ack", undefined],
    ["pending_ack", undefined],
    ["rejected", "too_large"],
  ]);
});
