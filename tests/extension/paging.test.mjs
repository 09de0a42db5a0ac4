import assert from "node:assert/strict";
import { test } from "node:test";

import { nextPosition } from "../../extension_harness/extension/shared/paging.js";

const BOUNDS = { pageSize: 20, maxPageSize: 80 };

/** A page of the rule: rows at T or before, newest first, at most the asked count. */
function pageOf(times, { cursor, count }) {
  const older = times.filter((time) => cursor === null || time <= cursor);
  const rows = older.sort((left, right) => right - left).slice(0, count);
  return {
    rows,
    seen: {
      rows: rows.length,
      oldestMs: rows.at(-1) ?? null,
      reportedNext: null,
      hasMore: rows.length < older.length,
    },
  };
}

/** Walks to the end; the times seen, how it ended, and with how many questions. */
function walk(times, answer = pageOf) {
  let position = { cursor: null, count: BOUNDS.pageSize, isPastEdge: false };
  const seen = new Set();
  for (let asked = 1; asked < 1_000; asked += 1) {
    const page = answer(times, position, asked);
    page.rows.forEach((row) => seen.add(row));
    const decision = nextPosition(position, page.seen, BOUNDS);
    if (decision.next === null) return { seen, decision, asked };
    position = decision.next;
  }
  throw new Error("walked for ever");
}

test("every message is seen, page by page, to the end", () => {
  const times = Array.from({ length: 95 }, (_, index) => 1_000 + index);
  const { seen, decision } = walk(times);
  assert.equal(seen.size, 95);
  assert.deepEqual(decision, { next: null, isComplete: true, isStuck: false });
});

test("M05: more of one millisecond than a page holds widens the page, none is skipped", () => {
  const times = Array.from({ length: 60 }, () => 500).concat([499, 498, 501]);
  const indexed = times.map((time, index) => time + index / 1_000);
  const { seen, decision } = walk(indexed, (all, position) => {
    const cursor = position.cursor === null ? null : position.cursor + 0.999;
    const page = pageOf(all, { ...position, cursor });
    return {
      ...page,
      seen: { ...page.seen, oldestMs: Math.floor(page.seen.oldestMs) },
    };
  });
  assert.equal(seen.size, 63);
  assert.ok(decision.isComplete);
});

test("M06: a page that repeats for ever ends as stuck, and not as complete", () => {
  const stuck = { rows: 20, oldestMs: 700, reportedNext: 700, hasMore: true };
  const { decision, asked } = walk([], () => ({ rows: [], seen: stuck }));
  assert.deepEqual(decision, { next: null, isComplete: false, isStuck: true });
  assert.ok(asked < 20);
});

test("M08: an empty page that promises more is asked again, wider", () => {
  const empty = { rows: 0, oldestMs: null, reportedNext: null, hasMore: true };
  const { seen, decision } = walk([1, 2, 3], (times, position, asked) =>
    asked === 1 ? { rows: [], seen: empty } : pageOf(times, position),
  );
  assert.equal(seen.size, 3);
  assert.ok(decision.isComplete);
});

test("M08: a full page that denies more is not believed at once", () => {
  const times = Array.from({ length: 50 }, (_, index) => 1_000 + index);
  const { seen } = walk(times, (all, position) => {
    const page = pageOf(all, position);
    return { ...page, seen: { ...page.seen, hasMore: false } };
  });
  assert.equal(seen.size, 50);
});

test("a surface that says nothing about more ends when nothing older comes", () => {
  const times = Array.from({ length: 41 }, (_, index) => 1_000 + index);
  const { seen, decision } = walk(times, (all, position) => {
    const page = pageOf(all, position);
    return { ...page, seen: { ...page.seen, hasMore: null } };
  });
  assert.equal(seen.size, 41);
  assert.ok(decision.isComplete);
});

test("an empty conversation is complete after one question", () => {
  const { asked, decision } = walk([]);
  assert.equal(asked, 1);
  assert.ok(decision.isComplete);
});
