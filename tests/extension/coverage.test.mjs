import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Coverage,
  noteLost,
} from "../../extension_harness/extension/background/coverage.js";
import {
  begun,
  needsWalk,
} from "../../extension_harness/extension/background/walks.js";
import { takeList } from "../../extension_harness/extension/store/checkpoints.js";
import { CHECKPOINTS } from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";

const UNWALKED = {
  historyComplete: false,
  nextTimeStamp: null,
  anchorMessageId: null,
  result: null,
};

async function listed() {
  const store = new MemoryStore();
  const both = ["a", "b"].map((conversationId) => ({
    conversationId,
    latestMessageAtMs: 9,
  }));
  for (const account of ["1", "2"]) await takeList(store, account, both, 10);
  const completed = {
    phase: "completed",
    historyComplete: true,
    scannedActivityMs: 9,
  };
  store.fill(
    CHECKPOINTS,
    ...store.all(CHECKPOINTS).map((each) => ({ ...each, ...completed })),
  );
  return store;
}

const behind = (store) =>
  store
    .all(CHECKPOINTS)
    .filter(needsWalk)
    .map(({ key }) => key)
    .sort();

test("OT-43: a conversation of which something was lost is walked again", async () => {
  const store = await listed();
  assert.deepEqual(behind(store), []);
  await noteLost(store, [["1", "b"]]);
  assert.deepEqual(behind(store), ['["1","b"]']);
});

test("OT-43: where it is not known which, all of the account are", async () => {
  const store = await listed();
  await noteLost(store, [["2", null]]);
  assert.deepEqual(behind(store), ['["2","a"]', '["2","b"]']);
});

test("OT-43, OT-46: where a newest message may not be alone in its millisecond, a new page has it walked", async () => {
  const store = await listed();
  const scannedThrough = (all) =>
    store.fill(
      CHECKPOINTS,
      ...store.all(CHECKPOINTS).map((each) => ({
        ...each,
        scannedThroughMs: all[each.conversationId],
      })),
    );
  const opened = (pageId) => new Coverage(store).listed("1", [{ pageId }]);
  scannedThrough({ a: 10, b: 10 });
  await opened("over when it was scanned");
  assert.deepEqual(behind(store), []);

  scannedThrough({ a: 10, b: 9 });
  await opened("perhaps not over");
  assert.deepEqual(behind(store), ['["1","b"]']);
});

test("OT-43: a scan says what was over when it began", () => {
  const seen = { ...UNWALKED, latestMessageAtMs: 5 };
  assert.equal(begun(seen, 7).scannedThroughMs, 7);
  const goingOn = { ...seen, nextTimeStamp: 3, scannedThroughMs: 6 };
  assert.equal(begun(goingOn, 7).scannedThroughMs, 6);
});

test("what a page says of losses is not taken for it", async () => {
  const store = await listed();
  for (const odd of [
    undefined,
    3,
    "1",
    [null, 7, ["", null], [5, "a"], ["1"]],
  ]) {
    await noteLost(store, odd);
  }
  await noteLost(store, [["1", "none such"]]);
  assert.deepEqual(behind(store), []);
  assert.equal(store.all(CHECKPOINTS).length, 4);
});
