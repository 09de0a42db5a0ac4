// The one connection to the durable store. It promises that a write is over only when its
// transaction is complete and strictly durable, and that a connection which the browser
// closed is opened again, also under a verb that is running. Failures are reported, never
// replaced by memory.

import { StoreError } from "../shared/errors.js";
import { Opening } from "./opening.js";

/** How long the browser may take to open the store before that is worth saying. */
const PATIENCE_MS = 10_000;

/** What a transaction on a closed connection fails with, when it is to begin. */
const CLOSED_BEFORE = ["InvalidStateError"];
/**
 * And what one ends with when the browser closes the connection under it, before it says
 * so. A request that failed has names of its own, and so has a full disk.
 */
const CLOSED_UNDER = ["AbortError", "UnknownError"];

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
export function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * What happens to the store by itself. `held`: it is being opened, and that is held up.
 * `failed`: it was not opened; the next use tries again. `opened`: whatever was said before
 * is over. `closed`: `newer` for the upgrade of a newer version, `deleted` because somebody
 * deletes it, `terminated` by the browser; said once for each connection.
 *
 * @typedef {{kind: "held" | "failed", error: StoreError}
 *     | {kind: "opened"}
 *     | {kind: "closed", why: "newer" | "deleted" | "terminated"}} StoreEvent
 */

/** @type {import("./opening.js").Timer} */
const TIMER = {
  after: (callback, delayMs) => /** @type {any} */ (setTimeout(callback, delayMs)),
  cancel: (timer) => clearTimeout(timer),
};

export class Database {
  /** @type {IDBDatabase | null} */
  #connection = null;
  /** @type {Opening | null} */
  #opening = null;
  #factory;
  #told;
  #parts;

  /**
   * @param {IDBFactory} factory
   * @param {(event: StoreEvent) => void} [told]
   * @param {{timer: import("./opening.js").Timer, patienceMs: number}} [parts]
   */
  constructor(
    factory,
    told = () => {},
    parts = { timer: TIMER, patienceMs: PATIENCE_MS },
  ) {
    this.#factory = factory;
    this.#told = told;
    this.#parts = parts;
  }

  /**
   * Opens the store, or fails in words; a failure is not remembered.
   *
   * @returns {Promise<void>}
   * @throws {StoreError} `store_newer`, `upgrade_failed`, `store_full`,
   *     `store_unavailable`; `store_blocked`, `store_waiting` while it is being opened
   */
  async open() {
    await this.#connected();
  }

  /**
   * Runs `body` in one read transaction.
   *
   * @template T
   * @param {string[]} stores
   * @param {(transaction: IDBTransaction) => Promise<T>} body awaits nothing but requests
   *     of this transaction; runs again if the browser closes the connection under it
   * @returns {Promise<T>}
   * @throws {StoreError} `store_read_failed`, and as for `open`
   */
  read(stores, body) {
    return this.#run("readonly", stores, body);
  }

  /**
   * Runs `body` in one strictly durable readwrite transaction and returns when that is
   * complete. A throw, or a commit that fails (a full disk shows only then), leaves
   * nothing behind (OT-31).
   *
   * @template T
   * @param {string[]} stores
   * @param {(transaction: IDBTransaction) => Promise<T>} body as for `read`
   * @returns {Promise<T>}
   * @throws {StoreError} `store_full`, `store_write_failed`, and as for `open`
   */
  write(stores, body) {
    return this.#run("readwrite", stores, body);
  }

  /**
   * @template T
   * @param {"readonly" | "readwrite"} mode
   * @param {string[]} stores
   * @param {(transaction: IDBTransaction) => Promise<T>} body
   * @returns {Promise<T>}
   */
  async #run(mode, stores, body) {
    const first = await this.#attempt(mode, stores, body);
    if ("value" in first) return first.value;
    // The browser closed the connection, so nothing of it was written: once more, anew.
    const second = await this.#attempt(mode, stores, body);
    if ("value" in second) return second.value;
    throw failure(mode, second.closed);
  }

  /**
   * @template T
   * @param {"readonly" | "readwrite"} mode
   * @param {string[]} stores
   * @param {(transaction: IDBTransaction) => Promise<T>} body
   * @returns {Promise<{value: T} | {closed: unknown}>} closed: why the browser ended it, or
   *     let it not begin
   */
  async #attempt(mode, stores, body) {
    const connection = await this.#connected();
    let isComplete = false;
    /** @type {((thrown: unknown) => unknown) | null} */
    let causeOf = null; // until it has begun
    try {
      const transaction = connection.transaction(stores, mode, optionsOf(mode));
      const completed = endOf(transaction).then(() => void (isComplete = true));
      completed.catch(() => {}); // awaited below; a throw of the body comes first
      causeOf = (thrown) => abortCause(transaction, completed, thrown);
      const running = body(transaction);
      // A body that waits for what cannot come any more is not waited for.
      const value = await Promise.race([running, completed.then(() => running)]);
      await completed;
      return { value };
    } catch (thrown) {
      const cause = causeOf === null ? thrown : await causeOf(thrown);
      const signs = causeOf === null ? CLOSED_BEFORE : CLOSED_UNDER;
      if (isComplete || !isNamed(cause, ...signs)) throw failure(mode, cause);
      this.#lost(connection);
      return { closed: cause };
    }
  }

  /** @returns {Promise<IDBDatabase>} */
  async #connected() {
    if (this.#connection !== null) return this.#connection;
    this.#opening ??= this.#open();
    return this.#opening.usable();
  }

  #open() {
    const opening = new Opening(this.#factory, {
      ...this.#parts,
      held: (error) => this.#told({ kind: "held", error }),
    });
    opening.connection.then(
      (connection) => this.#opened(connection),
      (error) => {
        this.#opening = null;
        this.#told({ kind: "failed", error });
      },
    );
    return opening;
  }

  /** @param {IDBDatabase} connection */
  #opened(connection) {
    this.#opening = null;
    this.#connection = connection;
    connection.onversionchange = ({ newVersion }) => {
      connection.close(); // at once: whoever asks for this waits for it
      if (this.#connection !== connection) return;
      this.#connection = null;
      this.#told({ kind: "closed", why: newVersion === null ? "deleted" : "newer" });
    };
    connection.onclose = () => this.#lost(connection);
    this.#told({ kind: "opened" });
  }

  /**
   * The browser closes a connection: a verb may see it before the event comes, and after
   * it. It is said once.
   *
   * @param {IDBDatabase} connection
   */
  #lost(connection) {
    if (this.#connection !== connection) return;
    this.#connection = null;
    connection.close();
    this.#told({ kind: "closed", why: "terminated" });
  }
}

/** @param {"readonly" | "readwrite"} mode */
function optionsOf(mode) {
  const options = mode === "readwrite" ? { durability: "strict" } : {};
  return /** @type {IDBTransactionOptions} */ (options);
}

/**
 * @param {IDBTransaction} transaction
 * @returns {Promise<void>} rejects when it was aborted
 */
function endOf(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () =>
      reject(transaction.error ?? new DOMException("It was aborted.", "AbortError"));
  });
}

/**
 * Ends a transaction and says why it failed: its own error, which a full disk leaves there
 * alone, comes before what the body saw of it.
 *
 * @param {IDBTransaction} transaction
 * @param {Promise<void>} completed
 * @param {unknown} thrown
 * @returns {Promise<unknown>}
 */
async function abortCause(transaction, completed, thrown) {
  try {
    transaction.abort();
  } catch {
    // It is over already, or nearly, which is all that this wants.
  }
  await completed.catch(() => {}); // its error is final then, and so is what was written
  return transaction.error ?? thrown;
}

/**
 * @param {unknown} error
 * @param {...string} names
 */
function isNamed(error, ...names) {
  return error instanceof DOMException && names.includes(error.name);
}

/**
 * @param {"readonly" | "readwrite"} mode
 * @param {unknown} cause
 */
function failure(mode, cause) {
  if (cause instanceof StoreError) return cause;
  if (isNamed(cause, "QuotaExceededError")) {
    return new StoreError(
      "store_full",
      "The browser's disk quota is used up: the last observations were not recorded. Free disk space; they are taken again.",
      { cause },
    );
  }
  const code = mode === "readwrite" ? "store_write_failed" : "store_read_failed";
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(code, `The message store failed: ${detail}`, { cause });
}
