// Conversations that wait before their next batch: the server asked to try again, refused a
// batch as a whole, or the store failed. Bounded by the conversations that have something
// to send; a good ACK takes one out.

import { fullJitter } from "../shared/backoff.js";

/**
 * @typedef {object} Cooled
 * @property {number} untilMs
 * @property {number} attempt
 * @property {number} maxMessages of the next batch
 */

export class Cooling {
  /** @type {Map<string, Cooled>} by conversation key */
  #cooled = new Map();
  #now;
  #random;
  #bounds;

  /**
   * @param {() => number} now
   * @param {() => number} random
   * @param {() => {baseMs: number, capMs: number}} bounds
   */
  constructor(now, random, bounds) {
    this.#now = now;
    this.#random = random;
    this.#bounds = bounds;
  }

  /**
   * @param {string} key
   * @param {number} maxMessages of its next batch: fewer than before when the server
   *     refused a batch as a whole
   * @returns {number} ms until it may be tried again
   */
  cool(key, maxMessages) {
    const attempt = (this.#cooled.get(key)?.attempt ?? 0) + 1;
    const delayMs = fullJitter(attempt, this.#bounds(), this.#random);
    this.#cooled.set(key, {
      untilMs: this.#now() + delayMs,
      attempt,
      maxMessages: Math.max(1, Math.floor(maxMessages)),
    });
    return delayMs;
  }

  /** @param {string} key */
  forget(key) {
    this.#cooled.delete(key);
  }

  /**
   * @param {string} key
   * @returns {number} ms until the conversation may be tried; 0 for now
   */
  leftMs(key) {
    return Math.max(0, (this.#cooled.get(key)?.untilMs ?? 0) - this.#now());
  }

  /**
   * @param {string} key
   * @returns {number} Infinity: no bound of ours
   */
  maxMessages(key) {
    return this.#cooled.get(key)?.maxMessages ?? Infinity;
  }
}
