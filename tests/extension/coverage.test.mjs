import assert from "node:assert/strict";
import { test } from "node:test";

import { noteLost } from "../../extension_harness/extension/background/coverage.js";
import { needsWalk } from "../../extension_harness/extension/background/walks.js";
import { takeList } from "../../extension_harness/extension/store/checkpoints.js";
import { CHECKPOINTS } from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";

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
