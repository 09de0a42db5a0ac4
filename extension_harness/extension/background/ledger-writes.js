// Writes into the ledgers beside the messages: a fault of one is its own, and named so.

import { StoreError } from "../shared/errors.js";

/** What concerns more than one ledger, and is said as what it is. */
const OF_THE_STORE = ["store_full", "store_blocked", "store_waiting", "store_newer"];

/**
 * @template T
 * @param {string} code of its failure
 * @param {string} what was to be written
 * @param {() => Promise<T>} write
 * @returns {Promise<T>} when it is on disk
 * @throws {StoreError} of this code, or what the whole store suffers from
 */
export async function writtenApart(code, what, write) {
  try {
    return await write();
  } catch (cause) {
    if (cause instanceof StoreError && OF_THE_STORE.includes(cause.code)) throw cause;
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError(
      code,
      `${what} were not recorded (${detail}). Messages are not affected; the next look at the page tries again.`,
      { cause },
    );
  }
}
