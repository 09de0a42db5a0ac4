import assert from "node:assert/strict";
import { test } from "node:test";

import {
  DISPLACED_REST_MS,
  LONGEST_TIMER_MS,
  afterClose,
  fullJitter,
  stopHolds,
} from "../../extension_harness/extension/shared/backoff.js";

const BOUNDS = { baseMs: 500, capMs: 25_000 };

test("the jitter is full, also at the cap, and never longer than a worker's life", () => {
  for (const attempt of [0, 3, 10, 1_000]) {
    assert.equal(
      fullJitter(attempt, BOUNDS, () => 0),
      0,
    );
    assert.ok(fullJitter(attempt, BOUNDS, () => 0.999) <= LONGEST_TIMER_MS);
  }
  assert.equal(
    fullJitter(10, BOUNDS, () => 0.5),
    12_500,
  );
});

test("44xx but 4408 stops, 1012 waits 5 to 30 s, everything else backs off", () => {
  for (const code of [4400, 4401, 4403, 4409, 4499]) {
    assert.deepEqual(afterClose(code, 0, BOUNDS, Math.random), { stop: true });
  }
  assert.deepEqual(
    afterClose(1012, 9, BOUNDS, () => 0),
    { stop: false, delayMs: 5_000 },
  );
  assert.deepEqual(
    afterClose(1012, 0, BOUNDS, () => 1),
    { stop: false, delayMs: 30_000 },
  );
  for (const code of [1000, 1001, 1006, 1013, 4408, 4503]) {
    assert.deepEqual(
      afterClose(code, 0, BOUNDS, () => 1),
      { stop: false, delayMs: 500 },
    );
  }
});

test("known bug 53: two hundred that lost their server do not come back together", () => {
  const random = seeded(53);
  const buckets = new Map();
  for (let client = 0; client < 200; client += 1) {
    let atMs = 0;
    for (let attempt = 0; atMs < 60_000; attempt += 1) {
      atMs += afterClose(1006, attempt, BOUNDS, random).delayMs;
    }
    const second = Math.floor(atMs / 1_000);
    buckets.set(second, (buckets.get(second) ?? 0) + 1);
  }
  assert.ok(Math.max(...buckets.values()) <= 20, "over 10 % in one second");
});

/** @param {number} seed a small linear congruential generator: the same each time */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

test("OT-60: a clock that is set back by a year holds no displaced connection for a year", () => {
  const stop = { closeCode: 4409, atMs: 2 * DISPLACED_REST_MS };
  assert.equal(stopHolds(stop, 2.5 * DISPLACED_REST_MS), true);
  assert.equal(stopHolds(stop, 3 * DISPLACED_REST_MS), false);
  assert.equal(stopHolds(stop, DISPLACED_REST_MS), false);
  assert.equal(stopHolds({ ...stop, closeCode: 4401 }, 0), true);
});
