import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Recorder } from "../../extension_harness/extension/background/recorder.js";
import { Sync } from "../../extension_harness/extension/background/sync.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import {
  readCheckpoint,
  takeList,
  updateCheckpoint,
} from "../../extension_harness/extension/store/checkpoints.js";
import {
  applyResults,
  nextPending,
} from "../../extension_harness/extension/store/deliveries.js";
import {
  ANOMALIES,
  CANDIDATES,
} from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "2500000000001";
const CHAT = "2500000000001-3500000000002#11011@icbu";
const PAGE = { tabId: 1, pageId: "page", channelAccountId: ACCOUNT, route: "" };

let clock;
let database;
let recorder;

beforeEach(async () => {
  clock = new ManualClock();
  database = new MemoryStore();
  recorder = new Recorder(database, clock.now, () => {});
  await listed(10);
  await record([10], { historyComplete: true });
  const confirmed = {
    candidateKey: null,
    messageId: "10",
    status: "confirmed",
  };
  await applyResults(database, ACCOUNT, CHAT, [confirmed], 1);
  await change({
    phase: "completed",
    anchorMessageId: "10",
    scannedActivityMs: 10,
  });
});

const listed = (latestMessageAtMs) =>
  takeList(database, ACCOUNT, [{ conversationId: CHAT, latestMessageAtMs }], 1);

const change = (changes) =>
  updateCheckpoint(database, ACCOUNT, CHAT, (seen) => ({
    ...seen,
    ...changes,
  }));

const checkpoint = () => readCheckpoint(database, ACCOUNT, CHAT);

const scanning = () =>
  change({
    phase: "paging",
    syncMode: "incremental",
    anchorState: "awaiting",
    historyComplete: false,
    nextTimeStamp: null,
  });

const message = (sentAtMs) => ({
  surface: "test",
  messageId: String(sentAtMs),
  conversationId: CHAT,
  senderId: "3500000000002",
  direction: "inbound",
  sentAtMs,
  kind: "text",
  text: "hello",
});

/** A page of history, or without `page` what came live. */
const record = (times, page) =>
  recorder.record({
    channelAccountId: ACCOUNT,
    conversationId: CHAT,
    observations: times.map(message),
    page: page
      ? {
          askedWith: null,
          nextTimeStamp: null,
          historyComplete: false,
          ...page,
        }
      : null,
  });

const states = () =>
  Object.fromEntries(
    database.all(CANDIDATES).map((each) => [each.messageId, each.status]),
  );

const goingUp = async () =>
  (await nextPending(database, ACCOUNT, CHAT, 10)).map(
    ({ candidate }) => candidate.messageId,
  );

test("OT-41, OT-42, OT-45: history and live ones wait for the anchor, and go together", async () => {
  await scanning();
  await record([30, 29], { nextTimeStamp: 29 });
  await record([31]);
  assert.deepEqual(states(), {
    10: "confirmed",
    29: "awaiting_anchor",
    30: "awaiting_anchor",
    31: "awaiting_anchor",
  });
  assert.deepEqual(await goingUp(), []);

  await record([20, 10], { nextTimeStamp: 9 });
  assert.deepEqual(await goingUp(), ["20", "29", "30", "31"]);
  const { anchorState, historyComplete, nextTimeStamp } = await checkpoint();
  assert.deepEqual(
    [anchorState, historyComplete, nextTimeStamp],
    ["met", true, null],
  );
});

test("OT-41, OT-43: others of the anchor's millisecond are met with it", async () => {
  await scanning();
  await record([30, 10], { nextTimeStamp: 10 });
  assert.equal((await checkpoint()).anchorState, "awaiting");
  assert.deepEqual(await goingUp(), []);

  const twin = { ...message(10), messageId: "twin" };
  await recorder.record({
    channelAccountId: ACCOUNT,
    conversationId: CHAT,
    observations: [message(9), message(10), twin],
    page: { askedWith: 10, nextTimeStamp: 9, historyComplete: false },
  });
  assert.deepEqual(await goingUp(), ["9", "twin", "30"]);
});

test("OT-41, OT-42: where the anchor was recalled meanwhile, its recall is met", async () => {
  await scanning();
  const recall = {
    ...message(10),
    messageId: "10:recall",
    kind: "recall",
    recall: { messageId: "10" },
  };
  await recorder.record({
    channelAccountId: ACCOUNT,
    conversationId: CHAT,
    observations: [message(30), recall],
    page: { askedWith: null, nextTimeStamp: null, historyComplete: true },
  });
  assert.equal((await checkpoint()).anchorState, "met");
  assert.deepEqual(await goingUp(), ["10:recall", "30"]);
});

test("OT-41, OT-43: a next page that does not repeat the anchor meets it too", async () => {
  await scanning();
  await record([30, 10], { nextTimeStamp: 10 });
  await record([9, 8], { askedWith: 10, nextTimeStamp: 8 });

  assert.equal((await checkpoint()).anchorState, "met");
  assert.deepEqual(await goingUp(), ["8", "9", "30"]);
});

test("OT-41: an anchor in the first part of a page too large for one write", async () => {
  await scanning();
  const times = Array.from({ length: 501 }, (_, index) => 511 - index);
  await record([10, ...times], { nextTimeStamp: 9 });

  assert.equal((await checkpoint()).anchorState, "met");
});

test("OT-41: a scan that ends without its anchor holds all back, and says so", async () => {
  await scanning();
  await record([30], { historyComplete: true });
  await record([31]);

  assert.deepEqual(await goingUp(), []);
  const { anchorState, result } = await checkpoint();
  assert.deepEqual(
    [anchorState, result],
    ["not_found", "incremental_anchor_not_found"],
  );
  const codes = database.all(ANOMALIES).map((each) => each.code);
  assert.deepEqual(codes, ["incremental_anchor_not_found"]);
});

test("OT-46: after its increment a conversation's new message is an ordinary one", async () => {
  await scanning();
  await record([20, 10], { nextTimeStamp: 9 });
  await change({ phase: "completed", completionSent: true });
  await record([31]);

  assert.equal(states()["31"], "pending_ack");
  const { completionSent, phase } = await checkpoint();
  assert.deepEqual([phase, completionSent], ["uploading", false]);
});

/** A worker's walks, the page and Bright in the test's hands. */
function worker() {
  const asked = [];
  const sent = [];
  const sync = new Sync({
    database,
    pages: {
      all: [PAGE],
      of: () => PAGE,
      ask: (_page, kind, body) =>
        kind === "history"
          ? new Promise((resolve) => asked.push({ ...body, resolve }))
          : Promise.resolve({ isWhole: true, conversations: [] }),
    },
    recorder,
    connection: {
      welcome: { accounts: [ACCOUNT] },
      send: (frame) => sent.push(frame) > 0,
    },
    clock,
    settings: () => settingsFrom({ historyPageSize: 2, historyPaceMs: 0 }),
    listed: async () => {},
    met: () => {},
    profiled: () => {},
    historyEnded: async () => {},
    failed: (error) => assert.fail(error),
    coverage: { listed: async () => {} },
    health: { isClosed: () => false, lives: () => {}, lied: () => {} },
  });
  const question = async () => {
    await until(
      () => asked.length > 0,
      "the page is asked",
      () => clock.pass(10),
    );
    return asked.shift();
  };
  return { question, sent, sync };
}

test("OT-40: a conversation without an anchor is walked as full", async () => {
  await change({ anchorMessageId: null });
  await listed(30);
  const { question, sync } = worker();
  sync.wake(ACCOUNT);
  await question();

  assert.equal((await checkpoint()).syncMode, "full");
});

test("OT-41, OT-44, OT-70: a scan tells each page, and another worker goes on from there", async () => {
  await listed(30);
  const first = worker();
  first.sync.wake(ACCOUNT);
  const { cursor, resolve } = await first.question();
  assert.equal(cursor, null);
  const observations = [30, 29].map(message);
  resolve({ page: { observations, hasMore: true, reportedNext: null } });
  await first.question();

  const { anchorState, nextTimeStamp, syncMode } = await checkpoint();
  assert.deepEqual(
    [syncMode, anchorState, nextTimeStamp],
    ["incremental", "awaiting", 29],
  );
  assert.deepEqual(first.sent, [
    {
      type: "history.progress",
      channelAccountId: ACCOUNT,
      conversationId: CHAT,
      nextTimeStamp: 29,
      historyComplete: false,
      latestMessageAtMs: 30,
      page: 2,
    },
  ]);

  const next = worker();
  next.sync.wake(ACCOUNT);
  assert.equal((await next.question()).cursor, 29);
});
