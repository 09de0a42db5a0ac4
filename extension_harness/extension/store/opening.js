// One opening of the store. It lasts until the browser answers, however long that is, and
// is never given up for another: of two openings at once the second would only wait for the
// first. Whoever needs the store meanwhile is refused in words, not left to wait.

import { StoreError } from "../shared/errors.js";
import { DATABASE_NAME, DATABASE_VERSION, upgrade } from "./steps.js";

/** An opening that meets a store which is just being closed or cleared: so often again. */
const MAX_AGAIN = 6;
/** First wait before that; it doubles. */
const AGAIN_MS = 20;

/**
 * @typedef {object} Timer
 * @property {(callback: () => void, delayMs: number) => number} after
 * @property {(timer: number) => void} cancel
 */

export class Opening {
  /**
   * Resolves when the store is open; rejects when the browser refuses it.
   *
   * @type {Promise<IDBDatabase>}
   */
  connection;
  /** @type {StoreError | null} what holds it up now */
  #holdUp = null;
  /** @type {(error: StoreError) => void} */
  #refuse = () => {};
  /** @type {Promise<never>} rejects when it is held up first */
  #refused;
  #held;

  /**
   * @param {IDBFactory} factory
   * @param {object} parts
   * @param {Timer} parts.timer
   * @param {number} parts.patienceMs after which an unanswered opening is a hold-up
   * @param {(error: StoreError) => void} parts.held told of each hold-up
   */
  constructor(factory, { timer, patienceMs, held }) {
    this.#held = held;
    this.#refused = new Promise((_, reject) => (this.#refuse = reject));
    this.#refused.catch(() => {}); // nobody may be waiting
    const patience = timer.after(() => this.#hold(waiting()), patienceMs);
    this.connection = this.#answer(factory, timer).finally(() =>
      timer.cancel(patience),
    );
    this.connection.catch(() => {});
  }

  /**
   * @returns {Promise<IDBDatabase>}
   * @throws {StoreError} `store_blocked`, `store_waiting` while it is held up; and what it
   *     fails with: `store_newer`, `upgrade_failed`, `store_full`, `store_unavailable`
   */
  async usable() {
    if (this.#holdUp !== null) throw this.#holdUp;
    return Promise.race([this.connection, this.#refused]);
  }

  /** @param {StoreError} error */
  #hold(error) {
    if (this.#holdUp?.code === "store_blocked") return; // the better reason
    this.#holdUp = error;
    this.#refuse(error);
    this.#held(error);
  }

  /**
   * @param {IDBFactory} factory
   * @param {Timer} timer
   * @returns {Promise<IDBDatabase>}
   */
  async #answer(factory, timer) {
    for (let again = 0; ; again += 1) {
      try {
        return await this.#ask(factory);
      } catch (error) {
        if (again >= MAX_AGAIN || !isPassing(error)) throw error;
      }
      await new Promise((resolve) =>
        timer.after(() => resolve(undefined), AGAIN_MS * 2 ** again),
      );
    }
  }

  /**
   * @param {IDBFactory} factory
   * @returns {Promise<IDBDatabase>}
   */
  #ask(factory) {
    return new Promise((resolve, reject) => {
      const request = factory.open(DATABASE_NAME, DATABASE_VERSION);
      /** @type {{error: unknown} | null} */
      let upgrading = null;
      request.onupgradeneeded = ({ oldVersion }) => {
        const transaction = /** @type {IDBTransaction} */ (request.transaction);
        const upgraded = (upgrading = { error: /** @type {unknown} */ (null) });
        transaction.onabort = () => (upgraded.error ??= transaction.error);
        try {
          upgrade(request.result, transaction, oldVersion);
        } catch (error) {
          upgraded.error = error; // the abort itself would not say why
          transaction.abort();
        }
      };
      request.onblocked = () => this.#hold(blocked());
      request.onerror = () =>
        reject(
          upgrading === null
            ? openFailure(request.error)
            : upgradeFailure(upgrading.error ?? request.error),
        );
      request.onsuccess = () => resolve(request.result);
    });
  }
}

/**
 * Whether an opening failed only because the browser was closing the store: then it gives
 * up the request without a word of its own.
 *
 * @param {unknown} error
 */
function isPassing(error) {
  const cause = error instanceof StoreError ? error.cause : null;
  return cause instanceof DOMException && cause.name === "AbortError";
}

function blocked() {
  return new StoreError(
    "store_blocked",
    "Another window holds the old message store open, so it cannot be upgraded. Close other windows of this extension; what pages show meanwhile is taken again.",
  );
}

function waiting() {
  return new StoreError(
    "store_waiting",
    "The browser has not opened the message store yet. Nothing is recorded until it has; what pages show meanwhile is taken again.",
  );
}

/** @param {unknown} cause */
function full(cause) {
  return new StoreError(
    "store_full",
    "The browser's disk quota is used up: the message store cannot be opened. Free disk space; nothing is recorded until then.",
    { cause },
  );
}

/** @param {unknown} cause */
function openFailure(cause) {
  const name = cause instanceof DOMException ? cause.name : "";
  if (name === "VersionError") {
    return new StoreError(
      "store_newer",
      "The stored messages were written by a newer version of this extension. Update the extension; nothing was changed.",
      { cause },
    );
  }
  if (name === "QuotaExceededError") return full(cause);
  return new StoreError(
    "store_unavailable",
    "The browser did not open the message store. Free disk space or restart the browser; nothing is recorded until then.",
    { cause },
  );
}

/**
 * An upgrade that did not come to its end has changed nothing.
 *
 * @param {unknown} cause
 */
function upgradeFailure(cause) {
  if (cause instanceof StoreError) return cause;
  if (cause instanceof DOMException && cause.name === "QuotaExceededError") {
    return full(cause);
  }
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(
    "upgrade_failed",
    `The message store stays at its old version, whole: its upgrade failed (${detail}). The next start tries again; if it fails again, report this and update the extension.`,
    { cause },
  );
}
