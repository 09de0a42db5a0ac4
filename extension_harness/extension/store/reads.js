// Bounded reads through an index. There is no way here to read a whole store (OT-17).

import { StoreError } from "../shared/errors.js";
import { done } from "./database.js";

/**
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @returns {IDBIndex}
 * @throws {StoreError} `index_missing`: a read without its index fails, it never scans
 */
export function indexOf(transaction, storeName, indexName) {
  const store = transaction.objectStore(storeName);
  if (!store.indexNames.contains(indexName)) {
    throw new StoreError("index_missing", `${storeName} has no index ${indexName}.`);
  }
  return store.index(indexName);
}

/**
 * The first records under one index key, in primary-key order.
 *
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {IDBValidKey} key
 * @param {number} limit
 * @returns {Promise<any[]>}
 */
export function firstUnder(transaction, storeName, indexName, key, limit) {
  const index = indexOf(transaction, storeName, indexName);
  return done(index.getAll(IDBKeyRange.only(key), limit));
}

/**
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {IDBValidKey} key
 * @returns {Promise<number>}
 */
export function countUnder(transaction, storeName, indexName, key) {
  return done(indexOf(transaction, storeName, indexName).count(IDBKeyRange.only(key)));
}

/**
 * Up to `limit` records under one index key whose primary key lies after `after`.
 *
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {IDBValidKey} key
 * @param {{after: string | null, limit: number}} page
 * @returns {Promise<any[]>}
 */
export function pageUnder(transaction, storeName, indexName, key, page) {
  const index = indexOf(transaction, storeName, indexName);
  const request = index.openCursor(IDBKeyRange.only(key));
  return new Promise((resolve, reject) => {
    /** @type {any[]} */
    const found = [];
    let skipped = page.after === null;
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor === null) return resolve(found);
      if (!skipped && page.after !== null) {
        skipped = true;
        if (cursor.primaryKey < page.after) {
          return cursor.continuePrimaryKey(key, page.after);
        }
      }
      if (page.after !== null && cursor.primaryKey <= page.after) {
        return cursor.continue();
      }
      found.push(cursor.value);
      if (found.length >= page.limit) return resolve(found);
      cursor.continue();
    };
  });
}

/**
 * The greatest primary key under one index key; null when there is none.
 *
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {IDBValidKey} key
 * @returns {Promise<string | null>}
 */
export async function lastKeyUnder(transaction, storeName, indexName, key) {
  const index = indexOf(transaction, storeName, indexName);
  const cursor = await done(index.openKeyCursor(IDBKeyRange.only(key), "prev"));
  return cursor === null ? null : String(cursor.primaryKey);
}
