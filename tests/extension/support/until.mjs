// Waiting for what other threads do, too: digests are made by them, so that turns of the
// event loop are no measure of it.

import assert from "node:assert/strict";

const DEADLINE_MS = 10_000;

/**
 * Lets all go on until a condition holds.
 *
 * @param {() => boolean} holds
 * @param {string} what is waited for
 * @param {() => void} [each] done before each look, as letting a clock pass
 */
export async function until(holds, what, each = () => {}) {
  const end = performance.now() + DEADLINE_MS;
  while (!holds() && performance.now() < end) {
    await new Promise((resolve) => setImmediate(resolve));
    each();
  }
  assert.ok(holds(), what);
}
