// How often a message may be sent in an account's name. Kept in the browser's session, so
// that a worker that dies and comes back is no faster for it. What comes too soon is
// refused, never kept for later.

import { Turns } from "./turns.js";

const MINUTE_MS = 60_000;
const KEY = "sentAtMs";

export class Pace {
  #turns = new Turns();
  #parts;

  /**
   * @param {object} parts
   * @param {() => number} parts.now
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {(keys: string[]) => Promise<Record<string, any>>} parts.read
   * @param {(values: Record<string, unknown>) => Promise<unknown>} parts.write
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * Takes one message's place, before it is sent.
   *
   * @param {string} account
   * @returns {Promise<boolean>} false: it is too soon, or there were too many in a minute
   */
  take(account) {
    // Two that look at the same moment would both find the place free.
    return this.#turns.take(KEY, () => this.#takeNow(account));
  }

  /** @param {string} account */
  async #takeNow(account) {
    const { now, read, settings, write } = this.#parts;
    const { sendGapMs, sendMaxPerMinute } = settings();
    const nowMs = now();
    const stored = (await read([KEY]))[KEY] ?? {};
    /** @type {number[]} */
    const all = Array.isArray(stored[account]) ? stored[account] : [];
    // A clock that was set back must not forbid sending for as long as it was wrong.
    const recent = all.filter((sentAtMs) => Math.abs(nowMs - sentAtMs) < MINUTE_MS);
    const isTooSoon = recent.some((sentAtMs) => Math.abs(nowMs - sentAtMs) < sendGapMs);
    if (isTooSoon || recent.length >= sendMaxPerMinute) return false;
    await write({ [KEY]: { ...stored, [account]: [...recent, nowMs] } });
    return true;
  }
}
