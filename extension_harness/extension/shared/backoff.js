// When to come back: pure decisions, the random source is handed in.

/** A worker dies 30 s after its last event, so no timer of ours is longer than this. */
export const LONGEST_TIMER_MS = 25_000;

/** How long a displaced connection leaves the field to the one that displaced it. */
export const DISPLACED_REST_MS = 600_000;

/**
 * Whether a close code says that the same credentials will not do.
 *
 * All of 44xx but 4408: a greeting that came too late, from a machine that slept between
 * the handshake and the greeting, say, tells nothing of the credentials.
 *
 * @param {number} closeCode
 * @returns {boolean}
 */
export function isFinal(closeCode) {
  return closeCode >= 4400 && closeCode < 4500 && closeCode !== 4408;
}

/**
 * Whether a remembered stop still holds. One for being displaced (4409) lapses: the other
 * connection of this device may have been its own former worker. Coming back so seldom is
 * no fight with a copy of the profile, if there really is one. Nor does it hold for as long
 * as a clock was wrong that is set back.
 *
 * @param {{closeCode: number, atMs?: number}} stop
 * @param {number} nowMs
 * @returns {boolean}
 */
export function stopHolds(stop, nowMs) {
  if (stop.closeCode !== 4409) return true;
  return Math.abs(nowMs - (stop.atMs ?? 0)) < DISPLACED_REST_MS;
}

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
 * What `isFinal`: do not come back by itself. 1012: the server restarts, a random
 * 5 to 30 s. Everything else, a "normal" 1000 included: back-off.
 *
 * @param {number} closeCode
 * @param {number} attempt
 * @param {{baseMs: number, capMs: number}} bounds
 * @param {() => number} random
 * @returns {{stop: true} | {stop: false, delayMs: number}}
 */
export function afterClose(closeCode, attempt, bounds, random) {
  if (isFinal(closeCode)) return { stop: true };
  if (closeCode === 1012) {
    return { stop: false, delayMs: 5_000 + Math.round(random() * 25_000) };
  }
  return { stop: false, delayMs: fullJitter(attempt, bounds, random) };
}
