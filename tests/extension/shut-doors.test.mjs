// What is asked of a page with which something is wrong, what of its answers is believed, and
// what is told of them.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Health } from "../../extension_harness/extension/background/health.js";
import { Recorder } from "../../extension_harness/extension/background/recorder.js";
import { Sync } from "../../extension_harness/extension/background/sync.js";
import { PageError } from "../../extension_harness/extension/shared/errors.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import { readCheckpoint } from "../../extension_harness/extension/store/checkpoints.js";
import { PROFILES } from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "2500000000001";
const BUYER = "3500000000002";
const CHATS = [2, 3, 4, 5, 6].map(
  (n) => `${ACCOUNT}-350000000000${n}#11011@icbu`,
);
const [CHAT] = CHATS;
const PAGE = { tabId: 1, pageId: "page", channelAccountId: ACCOUNT, route: "" };
const NEWEST = 1_750_000_000_100;
const PACE_MS = 200;
const SETTINGS = { historyPaceMs: PACE_MS, pageAttempts: 2 };

let clock;
let database;
let faults;
let health;
let history;
let isWhole;
let asked;
let contact;
let profiled;
let sync;

beforeEach(() => {
  clock = new ManualClock();
  database = new MemoryStore();
  asked = [];
  faults = [];
  profiled = [];
  contact = undefined;
  isWhole = true;
  history = (conversationId) => [message(conversationId)];
  const connection = { welcome: { accounts: [ACCOUNT] }, send: () => true };
  health = new Health({
    connection,
    recovered: () => sync.relist(PAGE),
    changed: () => {},
  });
  sync = new Sync({
    database,
    pages: { all: [PAGE], of: () => PAGE, ask: answer },
    recorder: new Recorder(database, clock.now, () => {}),
    connection,
    clock,
    settings: () => settingsFrom(SETTINGS),
    listed: async () => {},
    met: () => {},
    profiled: (account) => profiled.push(account),
    historyEnded: async () => {},
    failed: (error) => faults.push(error.code),
    coverage: { listed: async () => {} },
    health,
  });
});

const message = (conversationId) => ({
  surface: "test",
  messageId: "7",
  conversationId,
  senderId: BUYER,
  direction: "inbound",
  sentAtMs: NEWEST,
  kind: "text",
  text: "hello",
});

async function answer(_page, kind, { conversationId }) {
  asked.push([kind, clock.now()]);
  if (kind === "conversations") {
    const conversations = CHATS.map((conversationId) => ({
      conversationId,
      latestMessageAtMs: NEWEST,
      contact,
    }));
    return { isWhole, conversations };
  }
  const observations = history(conversationId);
  return { page: { observations, hasMore: false, reportedNext: null } };
}

const timesOf = (wanted) =>
  asked.filter(([kind]) => kind === wanted).map(([, atMs]) => atMs);
const asksFor = (kind) => timesOf(kind).length;

/** Lets a round go on to its end. */
async function round() {
  await until(
    () => asksFor("conversations") > 0 && !sync.hasWork,
    "the round ends",
    () => clock.pass(PACE_MS / 2),
  );
}

const isComplete = async (conversation) =>
  (await readCheckpoint(database, ACCOUNT, conversation)).historyComplete;

/** Lets time pass, and whatever comes of it. */
async function seconds(count) {
  for (let passed = 0; passed < count; passed += 1) {
    clock.pass(1_000);
    for (let turn = 0; turn < 20; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

test("P7, P15: a list that is never whole is not asked for more often with each look", async () => {
  isWhole = false;
  const asksInAMinute = async () => {
    const before = asksFor("conversations");
    sync.wake(ACCOUNT);
    await seconds(30);
    sync.wake(ACCOUNT);
    await seconds(30);
    return asksFor("conversations") - before;
  };
  for (let minute = 0; minute < 10; minute += 1) await asksInAMinute();
  assert.ok((await asksInAMinute()) <= 5);
});

for (const trouble of ["login_lost", "captcha"]) {
  test(`P1, P2: under ${trouble} the list is asked once a look and no history is`, async () => {
    health.told(1, PAGE, [trouble]);
    for (const looks of [1, 2]) {
      sync.wake(ACCOUNT);
      await until(() => !sync.hasWork, "a look ends");
      assert.equal(asksFor("conversations"), looks);
    }
    assert.equal(asksFor("history"), 0);

    health.told(1, PAGE, []);
    await round();
    assert.equal(asksFor("history"), CHATS.length);
    assert.equal(await isComplete(CHAT), true);
  });

  test(`P1, P2, P15: under ${trouble} a list that is not whole is left to the next look`, async () => {
    isWhole = false;
    health.told(1, PAGE, [trouble]);
    sync.wake(ACCOUNT);
    await until(() => asksFor("conversations") === 1, "it is asked for");
    await seconds(60);
    assert.equal(asksFor("conversations"), 1);
  });

  test(`P1, P2: a history that is answered with ${trouble} is not asked for again`, async () => {
    history = () => {
      health.told(1, PAGE, [trouble]);
      throw new PageError(trouble, "nobody is let in");
    };
    sync.wake(ACCOUNT);
    await round();
    assert.equal(asksFor("history"), 1);
  });
}

test("P3: nothing, where the list told of a message, is a dead page and no end", async () => {
  history = () => [];
  sync.wake(ACCOUNT);
  await round();
  assert.deepEqual(health.of(1), ["page_dead"]);
  assert.equal(await isComplete(CHAT), false);
  const { result } = await readCheckpoint(database, ACCOUNT, CHAT);
  assert.equal(result, "page_empty");

  history = (conversationId) => [message(conversationId)];
  sync.wake(ACCOUNT);
  await round();
  assert.deepEqual(health.of(1), []);
  assert.equal(await isComplete(CHAT), true);
});

test("P6: another conversation's rows alone are no end of a history", async () => {
  history = () => [message("another")];
  sync.wake(ACCOUNT);
  await round();
  assert.equal(await isComplete(CHAT), false);
});

test("P3, P15: a page that fails for one after the other is not asked for all", async () => {
  history = () => {
    throw new PageError("page_failed", "no");
  };
  health.told(1, PAGE, []);
  sync.wake(ACCOUNT);
  await round();
  assert.equal(asksFor("history"), 3 * SETTINGS.pageAttempts);
});

test("P15: histories are asked for at a pace, and slower after a refusal", async () => {
  let refusals = 1;
  history = (conversationId) => {
    if (refusals-- > 0) throw new PageError("page_busy", "later");
    return [message(conversationId)];
  };
  sync.wake(ACCOUNT);
  const began = clock.now();
  await round();
  const [first, again, next] = timesOf("history");
  assert.ok(first - began >= PACE_MS);
  assert.ok(again - first >= 2 * PACE_MS);
  assert.ok(next - again >= PACE_MS);
});

test("OT-85: of profiles that are not on disk nobody is told; of those that are, they are", async () => {
  contact = { aliId: BUYER, profile: { name: "Ines" } };
  const { write } = database;
  database.write = (stores, body) =>
    stores.includes(PROFILES)
      ? Promise.reject(new Error("the commit failed"))
      : write(stores, body);
  sync.wake(ACCOUNT);
  await round();
  assert.deepEqual(profiled, []);
  assert.deepEqual(faults, ["profiles_not_recorded"]);
  assert.equal(await isComplete(CHAT), true, "no message waits for it");

  database.write = write;
  sync.relist(PAGE);
  await until(
    () => profiled.length > 0,
    "they are told",
    () => clock.pass(100),
  );
  assert.deepEqual(profiled, [ACCOUNT]);
  assert.equal(database.all(PROFILES).length, CHATS.length);
});
