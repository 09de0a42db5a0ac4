// When to come back: pure decisions, the random source is handed in.

/** A worker dies 30 s after its last event, so no timer of ours is longer than this. */
export const LONGEST_TIMER_MS = 25_000;

/**
 * Full jitter: anything between nothing and the exponential bound, also at the cap, so
 * that many clients spread out instead of returning together.
 *
 * @param {number} attempt 0 for the first failure
 * @param {{baseMs: number, capMs: number}} bounds
 * @param {() => number} random in [0, 1)
 * @returns {number} milliseconds
 */
export function fullJitter(attempt, bounds, random) {
  const bound = Math.min(bounds.capMs, bounds.baseMs * 2 ** Math.min(attempt, 30));
  return Math.round(random() * bound);
}

/**
 * What a close code asks for.
 *
 * 44xx: do not come back with the same credentials. 1012: the server restarts, a random
 * 5 to 30 s. Everything else, a "normal" 1000 included: back-off.
 *
 * @param {number} closeCode
 * @param {number} attempt
 * @param {{baseMs: number, capMs: number}} bounds
 * @param {() => number} random
 * @returns {{stop: true} | {stop: false, delayMs: number}}
 */
export function afterClose(closeCode, attempt, bounds, random) {
  if (closeCode >= 4400 && closeCode < 4500) return { stop: true };
  if (closeCode === 1012) {
    return { stop: false, delayMs: 5_000 + Math.round(random() * 25_000) };
  }
  return { stop: false, delayMs: fullJitter(attempt, bounds, random) };
}
