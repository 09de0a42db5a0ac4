import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Presence } from "../../extension_harness/extension/background/presence.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import { ManualClock } from "./support/manual-clock.mjs";

let clock;
let wanted;
let alarms;
let reads;
let pages;
let presence;

beforeEach(() => {
  clock = new ManualClock();
  wanted = [];
  alarms = [];
  reads = [];
  pages = { isAnyOpen: false };
  presence = new Presence({
    // Each read of the store is answered when the test says so.
    database: { read: () => new Promise((resolve) => reads.push(resolve)) },
    connection: { want: (isWanted) => wanted.push(isWanted) },
    pages,
    sync: { hasWork: false },
    clock,
    settings: () => settingsFrom({}),
    browser: {
      setAlarm: async () => alarms.push("set"),
      clearAlarm: async () => alarms.push("cleared"),
    },
    guard: () => {},
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function answer(...values) {
  for (const value of values) {
    await turn();
    reads.shift()(value);
  }
  await turn();
}

test("with nothing to do the connection goes after its grace, and the alarm with it", async () => {
  void presence.settle();
  await answer([]);
  clock.pass(settingsFrom({}).idleGraceMs);

  assert.deepEqual(wanted, [false]);
  assert.deepEqual(alarms, ["cleared"]);
});

test("work that comes while the store is looked at is not slept over", async () => {
  void presence.settle();
  await turn();
  presence.busy();
  await answer([], ["1"], 1);
  clock.pass(settingsFrom({}).idleGraceMs * 2);

  assert.equal(wanted.includes(false), false);
  assert.equal(alarms.includes("cleared"), false);
});

test("a page that opens while the store is looked at is not overlooked", async () => {
  void presence.settle();
  await turn();
  pages.isAnyOpen = true;
  void presence.settle();
  await answer([]);
  clock.pass(settingsFrom({}).idleGraceMs * 2);

  assert.deepEqual(wanted, [true]);
});
