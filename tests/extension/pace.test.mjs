import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Pace } from "../../extension_harness/extension/background/pace.js";

let nowMs;
let session;

beforeEach(() => {
  nowMs = 1_000_000;
  session = {};
});

/** As each life of the worker makes one, over the browser's session. */
function pace(sendGapMs, sendMaxPerMinute) {
  return new Pace({
    now: () => nowMs,
    settings: () => ({ sendGapMs, sendMaxPerMinute }),
    read: async (keys) =>
      structuredClone(
        Object.fromEntries(keys.map((key) => [key, session[key]])),
      ),
    write: async (values) => Object.assign(session, structuredClone(values)),
  });
}

test("P15: between two messages there is a gap, for each account its own", async () => {
  assert.equal(await pace(3_000, 8).take("1"), true);
  nowMs += 2_999;
  assert.equal(await pace(3_000, 8).take("1"), false);
  assert.equal(await pace(3_000, 8).take("2"), true);
  nowMs += 1;
  assert.equal(await pace(3_000, 8).take("1"), true);
});

test("P15: so many in a minute and no more, over the worker's lives", async () => {
  for (let n = 0; n < 3; n += 1) assert.equal(await pace(0, 3).take("1"), true);
  assert.equal(await pace(0, 3).take("1"), false);
  nowMs += 60_000;
  assert.equal(await pace(0, 3).take("1"), true);
});

test("P15: of two that are sent at the same moment only one is in time", async () => {
  const life = pace(3_000, 8);
  assert.deepEqual(await Promise.all([life.take("1"), life.take("1")]), [
    true,
    false,
  ]);
  nowMs += 3_000;
  assert.deepEqual(await Promise.all([life.take("1"), life.take("2")]), [
    true,
    true,
  ]);
  assert.deepEqual(Object.keys(session.sentAtMs), ["1", "2"]);
});

test("what was refused takes no place", async () => {
  await pace(3_000, 2).take("1");
  await pace(3_000, 2).take("1");
  nowMs += 3_000;
  assert.equal(await pace(3_000, 2).take("1"), true);
});

test("a clock that is set back by an hour forbids nothing for an hour", async () => {
  await pace(3_000, 8).take("1");
  nowMs -= 3_600_000;
  assert.equal(await pace(3_000, 8).take("1"), true);
});

test("what stands in the session and is no list counts as nothing", async () => {
  session = { sentAtMs: { 1: "nonsense" } };
  assert.equal(await pace(3_000, 8).take("1"), true);
});
