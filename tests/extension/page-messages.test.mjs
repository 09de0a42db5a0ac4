// What the worker answers a page that tells it something.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Coverage } from "../../extension_harness/extension/background/coverage.js";
import { PageMessages } from "../../extension_harness/extension/background/page-messages.js";
import { Recorder } from "../../extension_harness/extension/background/recorder.js";
import {
  readCheckpoint,
  updateCheckpoint,
} from "../../extension_harness/extension/store/checkpoints.js";
import {
  ANOMALIES,
  MESSAGES,
} from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "2500000000001";
const OTHER = "2500000000009";
const CHAT = `${ACCOUNT}-3500000000002#11011@icbu`;

let database;
let failed;
let messages;
let registered;

/** As each life of the worker has them: it knows of no page. */
function life(coverage = { seen: async () => {}, forget: () => {} }) {
  registered = [];
  return new PageMessages({
    database,
    coverage,
    health: {},
    pages: {
      get all() {
        return registered;
      },
      register: (page) => {
        registered = registered.filter(({ tabId }) => tabId !== page.tabId);
        return registered.push(page) > 0;
      },
    },
    recorder: new Recorder(
      database,
      () => 7,
      () => {},
    ),
    sync: { wake: () => {} },
    clock: { now: () => 7 },
    told: () => {},
    failed: ({ code }) => failed.push(code),
  });
}

beforeEach(() => {
  database = new MemoryStore();
  failed = [];
  messages = life();
});

const row = (messageId, text = "hello") => ({
  surface: "test",
  messageId,
  conversationId: CHAT,
  senderId: "3500000000002",
  direction: "inbound",
  sentAtMs: 5_000_000,
  kind: "text",
  text,
});

const said = (rows, channelAccountId = ACCOUNT) => ({
  pageId: "p1",
  body: JSON.stringify({ channelAccountId, conversationId: null, rows }),
});

test("P9: a page is answered when it is on disk, and not before", async () => {
  const { write } = database;
  let commit;
  database.write = async (stores, body) => {
    await new Promise((resolve) => (commit = resolve));
    return write(stores, body);
  };
  let answer = null;
  const answered = messages
    .observed(1, said([row("7")]))
    .then((given) => (answer = given));
  await until(() => commit !== undefined, "the write is under way");
  assert.equal(answer, null);
  assert.deepEqual(database.all(MESSAGES), []);
  commit();
  await answered;
  assert.deepEqual(answer, { stored: true });
  assert.equal(database.all(MESSAGES).length, 1);
});

test("P9: what could not be written is not taken, and is said", async () => {
  database.write = () => Promise.reject(new Error("the disk is full"));
  const { stored, error } = await messages.observed(1, said([row("7")]));
  assert.equal(stored, false);
  assert.equal(error.code, failed[0]);
});

test("P9: a worker that comes back knows a page by its next word", async () => {
  await messages.observed(1, said([row("7")]));
  messages = life();
  await messages.observed(1, said([row("7"), row("8")]));
  assert.deepEqual(
    registered.map(({ pageId, tabId }) => [pageId, tabId]),
    [["p1", 1]],
  );
  assert.equal(database.all(MESSAGES).length, 2, "and keeps nothing twice");
});

test("P8: one message that two accounts' pages show is a fact of each", async () => {
  await messages.observed(1, said([row("7")]));
  await messages.observed(2, said([row("7")], OTHER));
  assert.deepEqual(
    database.all(MESSAGES).map((each) => each.channelAccountId),
    [ACCOUNT, OTHER],
  );
});

test("P10: another content under one id changes no fact, and is an anomaly", async () => {
  await messages.observed(1, said([row("7", "Guten Tag")]));
  await messages.observed(1, said([row("7", "Good day")]));
  const [fact, ...others] = database.all(MESSAGES);
  assert.deepEqual(others, []);
  assert.equal(fact.text, "Guten Tag");
  assert.equal(database.all(ANOMALIES).length, 1);
});

/** A life whose pages' lists are read, with one conversation that is scanned. */
async function covered() {
  const coverage = new Coverage(database);
  const page = { tabId: 1, pageId: "p1", channelAccountId: ACCOUNT, route: "" };
  messages = life(coverage);
  await messages.observed(1, said([row("7")]));
  await updateCheckpoint(database, ACCOUNT, CHAT, (seen) => ({
    ...seen,
    historyComplete: true,
    isBehind: false,
    scannedThroughMs: 6_000_000,
  }));
  await coverage.listed(ACCOUNT, [page]);
}

const isBehind = async () =>
  (await readCheckpoint(database, ACCOUNT, CHAT)).isBehind === true;

const greeting = (changes = {}) => ({
  pageId: "p1",
  body: JSON.stringify({ channelAccountId: ACCOUNT, route: "", ...changes }),
});

test("OT-43: a page that was away may have missed something before what it shows", async () => {
  const comesBack = {
    "and greets": () => messages.hello(1, greeting()),
    "and says no word of it": () => {},
  };
  for (const [how, back] of Object.entries(comesBack)) {
    await covered();
    registered.length = 0; // it said goodbye, or could not be reached
    await back();
    assert.equal(await isBehind(), false);
    await messages.observed(1, said([row("8")]));
    assert.equal(await isBehind(), true, how);
  }
});

test("OT-43, P8: so may one that was another account's meanwhile", async () => {
  await covered();
  await messages.hello(1, greeting({ channelAccountId: OTHER }));
  await messages.hello(1, greeting());
  await messages.observed(1, said([row("8")]));
  assert.equal(await isBehind(), true);
});

test("OT-43: a page that shows another conversation has missed nothing", async () => {
  await covered();
  await messages.hello(1, greeting({ route: "#/another" }));
  await messages.observed(1, said([row("8")]));
  assert.equal(await isBehind(), false);
});
