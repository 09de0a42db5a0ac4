import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { markForReading } from "../../extension_harness/extension/background/rereading.js";
import { Recorder } from "../../extension_harness/extension/background/recorder.js";
import { Sync } from "../../extension_harness/extension/background/sync.js";
import { Turns } from "../../extension_harness/extension/background/turns.js";
import { needsWalk } from "../../extension_harness/extension/background/walks.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import {
  readCheckpoint,
  takeList,
  updateCheckpoint,
} from "../../extension_harness/extension/store/checkpoints.js";
import { MESSAGES } from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "2500000000001";
const CHAT = "2500000000001-3500000000002#11011@icbu";
const OTHER = "2500000000001-3500000000003#11011@icbu";
const PAGE = { tabId: 1, pageId: "page", channelAccountId: ACCOUNT, route: "" };
const NEWEST = 1_750_000_000_100;

let clock;
let database;
let sync;
let asked;

beforeEach(() => {
  clock = new ManualClock();
  database = new MemoryStore();
  asked = [];
  sync = new Sync({
    database,
    pages: {
      all: [PAGE],
      of: () => PAGE,
      ask: (_page, kind, body) =>
        kind === "history"
          ? new Promise((resolve) => asked.push({ ...body, resolve }))
          : Promise.resolve({ isWhole: true, conversations: [] }),
    },
    recorder: new Recorder(database, clock.now, () => {}),
    connection: { welcome: { accounts: [ACCOUNT] }, send: () => true },
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
});

const listed = (conversationId) =>
  takeList(
    database,
    ACCOUNT,
    [{ conversationId, latestMessageAtMs: NEWEST }],
    1,
  );

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

/** The page answers the oldest question that is open with two rows below its cursor. */
async function answer(hasMore = true) {
  const { cursor, resolve } = await question();
  asked.shift();
  const top = cursor === null ? NEWEST : cursor;
  const observations = [top, top - 1].map(message);
  resolve({ page: { observations, hasMore, reportedNext: null } });
  return cursor;
}

async function question() {
  await until(
    () => asked.length > 0,
    "the page is asked",
    () => clock.pass(10),
  );
  return asked[0];
}

const messages = () =>
  database
    .all(MESSAGES)
    .map(({ sentAtMs }) => sentAtMs)
    .sort();

test("OT-20: a walk that is under way does not go on where nothing is any more", async () => {
  await listed(CHAT);
  sync.wake(ACCOUNT);
  assert.equal(await answer(), null);
  const { cursor } = await question();
  assert.notEqual(cursor, null, "the second page is on its way");

  const gone = await sync.rebuild(ACCOUNT, CHAT);
  assert.deepEqual(gone, {
    messages: 2,
    candidates: 2,
    anomalies: 0,
    cards: 0,
  });
  assert.deepEqual(messages(), []);
  assert.notEqual(await answer(), null); // what was asked for before
  const again = await question();

  assert.equal(again.cursor, null, "the newest is asked for again");
  assert.deepEqual(messages(), [], "and nothing older was stored without it");
  const { historyComplete, pages } = await readCheckpoint(
    database,
    ACCOUNT,
    CHAT,
  );
  assert.deepEqual([historyComplete, pages], [false, 0]);
});

test("OT-20: the conversation is met anew, as its list told of it", async () => {
  await listed(CHAT);
  await listed(OTHER);
  await updateCheckpoint(database, ACCOUNT, CHAT, (seen) => ({
    ...seen,
    historyComplete: true,
    phase: "completed",
    anchorMessageId: "7",
    syncMode: "incremental",
  }));
  const other = await readCheckpoint(database, ACCOUNT, OTHER);

  await sync.rebuild(ACCOUNT, CHAT);

  const anew = await readCheckpoint(database, ACCOUNT, CHAT);
  assert.deepEqual([anew.phase, anew.syncMode], ["paging", "full"]);
  assert.deepEqual(
    [anew.anchorMessageId, anew.latestMessageAtMs],
    [null, NEWEST],
  );
  assert.deepEqual(await readCheckpoint(database, ACCOUNT, OTHER), other);
});

test("what was never met is neither made nor marked", async () => {
  assert.equal(await sync.rebuild(ACCOUNT, CHAT), null);
  assert.equal(await markForReading(database, ACCOUNT, CHAT, 1), false);
  assert.equal(await readCheckpoint(database, ACCOUNT, CHAT), undefined);
});

test("a history that is complete, or stands still, is walked once more on demand", async () => {
  await listed(CHAT);
  for (const change of [
    { historyComplete: true, phase: "completed", scannedActivityMs: NEWEST },
    {
      historyComplete: false,
      pages: 3,
      result: "history_cursor_stuck",
      scannedActivityMs: NEWEST,
    },
  ]) {
    const before = await updateCheckpoint(database, ACCOUNT, CHAT, (seen) => ({
      ...seen,
      isBehind: false,
      ...change,
    }));
    assert.equal(needsWalk(before), false);
    assert.equal(await markForReading(database, ACCOUNT, CHAT, 1), true);
    assert.equal(
      needsWalk(await readCheckpoint(database, ACCOUNT, CHAT)),
      true,
    );
  }
});

test("turns of one name follow each other; a failure stops nobody behind it", async () => {
  const turns = new Turns();
  const order = [];
  const slow = turns.take("a", async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    order.push("first");
    throw new Error("first");
  });
  const next = turns.take("a", async () => order.push("second"));
  await turns.take("b", async () => order.push("other"));
  await assert.rejects(slow, /first/);
  await next;
  assert.deepEqual(order, ["other", "first", "second"]);
});
