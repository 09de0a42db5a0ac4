// The one connection to the durable store. It promises that a write is over only when its
// transaction is complete and strictly durable, and that a connection which the browser
// closed is opened again at the next use. Opening failures are reported, never replaced by
// memory.

import { StoreError } from "../shared/errors.js";
import { DATABASE_NAME, DATABASE_VERSION, upgrade } from "./steps.js";

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

export class Database {
  /** @type {Promise<IDBDatabase> | null} */
  #connection = null;
  #factory;
  #onTrouble;

  /**
   * @param {IDBFactory} factory
   * @param {(code: string) => void} [onTrouble] told `blocked`, `blocking`, `terminated`
   */
  constructor(factory, onTrouble = () => {}) {
    this.#factory = factory;
    this.#onTrouble = onTrouble;
  }

  /**
   * Opens the store, or fails in words; a failure is not remembered.
   *
   * @returns {Promise<void>}
   * @throws {StoreError} `store_newer`, `store_unavailable`
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
   *     of this transaction
   * @returns {Promise<T>}
   * @throws {StoreError} `store_read_failed`
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
   * @throws {StoreError} `store_full`, `store_write_failed`
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
    const transaction = await this.#begin(mode, stores);
    const completed = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(undefined);
      transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
    });
    completed.catch(() => {}); // awaited below; a throw of the body comes first
    try {
      const value = await body(transaction);
      await completed;
      return value;
    } catch (cause) {
      abortQuietly(transaction);
      throw failure(mode, transaction.error ?? cause);
    }
  }

  /**
   * @param {"readonly" | "readwrite"} mode
   * @param {string[]} stores
   */
  async #begin(mode, stores) {
    const options = mode === "readwrite" ? { durability: "strict" } : {};
    const start = async () =>
      (await this.#connected()).transaction(
        stores,
        mode,
        /** @type {IDBTransactionOptions} */ (options),
      );
    try {
      return await start();
    } catch (cause) {
      // The browser closed the connection before its close event came: once more, anew.
      if (!(cause instanceof DOMException) || cause.name !== "InvalidStateError") {
        throw cause;
      }
      this.#connection = null;
      return start();
    }
  }

  #connected() {
    this.#connection ??= this.#open().catch((cause) => {
      this.#connection = null;
      throw cause;
    });
    return this.#connection;
  }

  /** @returns {Promise<IDBDatabase>} */
  #open() {
    return new Promise((resolve, reject) => {
      const request = this.#factory.open(DATABASE_NAME, DATABASE_VERSION);
      request.onupgradeneeded = (event) => {
        const transaction = /** @type {IDBTransaction} */ (request.transaction);
        upgrade(request.result, transaction, event.oldVersion);
      };
      request.onblocked = () => this.#onTrouble("blocked");
      request.onerror = () => reject(openFailure(request.error));
      request.onsuccess = () => {
        const database = request.result;
        database.onversionchange = () => {
          this.#onTrouble("blocking");
          database.close();
          this.#connection = null;
        };
        database.onclose = () => {
          this.#onTrouble("terminated");
          this.#connection = null;
        };
        resolve(database);
      };
    });
  }
}

/** @param {IDBTransaction} transaction */
function abortQuietly(transaction) {
  try {
    transaction.abort();
  } catch {
    // It is over already, which is all that this wants.
  }
}

/** @param {unknown} cause */
function openFailure(cause) {
  if (cause instanceof DOMException && cause.name === "VersionError") {
    return new StoreError(
      "store_newer",
      "The stored messages were written by a newer version of this extension. Update the extension; nothing was changed.",
      { cause },
    );
  }
  return new StoreError(
    "store_unavailable",
    "The browser did not open the message store. Free disk space or restart the browser; nothing is recorded until then.",
    { cause },
  );
}

/**
 * @param {"readonly" | "readwrite"} mode
 * @param {unknown} cause
 */
function failure(mode, cause) {
  if (cause instanceof StoreError) return cause;
  const name = cause instanceof DOMException ? cause.name : "";
  if (name === "QuotaExceededError") {
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
