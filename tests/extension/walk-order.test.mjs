import assert from "node:assert/strict";
import { test } from "node:test";

import {
  begun,
  needsWalk,
  walkOrder,
} from "../../extension_harness/extension/background/walks.js";

const one = (name, latestMessageAtMs, failedAtMs = 0) => ({
  name,
  latestMessageAtMs,
  failedAtMs,
  result: failedAtMs === 0 ? null : "page_failed",
});

test("the latest active conversation is walked first", () => {
  const found = [one("a", 1), one("b", null), one("c", 3)].sort(walkOrder);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["c", "a", "b"],
  );
});

test("conversations that fail every time keep nobody waiting", () => {
  // Three rounds of three failures each reach all seven.
  const all = ["a", "b", "c", "d", "e", "f", "g"].map((name, at) =>
    one(name, 100 - at),
  );
  const asked = new Set();
  for (let now = 1; now <= 9; now += 1) {
    for (const each of all.toSorted(walkOrder).slice(0, 3)) {
      asked.add(each.name);
      Object.assign(each, { result: "page_failed", failedAtMs: now });
    }
    if (now === 3) assert.equal(asked.size, all.length);
  }
  const failing = all.toSorted(walkOrder).map(({ failedAtMs }) => failedAtMs);
  assert.deepEqual(failing, failing.toSorted());
});

test("OT-41: new activity has an anchor that was not found looked for again", () => {
  const scanned = {
    phase: "uploading",
    historyComplete: true,
    anchorState: "not_found",
    latestMessageId: "m",
    latestCandidateKey: null,
    latestMessageAtMs: 5,
    scannedActivityMs: 5,
    result: "incremental_anchor_not_found",
  };
  assert.equal(needsWalk(scanned), false);
  assert.equal(needsWalk({ ...scanned, latestMessageAtMs: 6 }), true);
  const waiting = { ...scanned, anchorState: "met", latestMessageAtMs: 6 };
  assert.equal(needsWalk(waiting), false);
});

test("OT-43, M06: what came after a history stood still is looked for from the newest", () => {
  const stuck = {
    phase: "paging",
    historyComplete: false,
    nextTimeStamp: 500,
    pages: 4,
    latestMessageAtMs: 800,
    scannedActivityMs: 800,
    result: "history_cursor_stuck",
  };
  assert.equal(
    begun(stuck, 800),
    null,
    "nothing new: it is not asked for ever",
  );

  for (const news of [{ latestMessageAtMs: 900 }, { isBehind: true }]) {
    const walk = begun({ ...stuck, ...news }, 900);
    assert.equal(walk.nextTimeStamp, null);
    assert.equal(needsWalk(walk), false, "and once");
  }
});
