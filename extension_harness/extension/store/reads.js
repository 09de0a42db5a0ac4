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
 * The range of one index key, whose first part is an account. Every read here goes through
 * it: without an account a read would be one over all of them, or over nothing (OT-17).
 *
 * @param {IDBValidKey} key
 * @returns {IDBKeyRange}
 * @throws {StoreError} `scope_missing`
 */
export function onlyUnder(key) {
  const account = Array.isArray(key) ? key[0] : key;
  requireAccount(account);
  return IDBKeyRange.only(key);
}

/**
 * The range of every index key that begins with an account: numbers, dates, texts and
 * binary after it come before `[account, []]`.
 *
 * @param {string} account
 * @returns {IDBKeyRange}
 * @throws {StoreError} `scope_missing`
 */
export function accountPrefix(account) {
  requireAccount(account);
  return IDBKeyRange.bound([account], [account, []]);
}

/** @param {unknown} account */
function requireAccount(account) {
  if (typeof account === "string" && account !== "") return;
  throw new StoreError(
    "scope_missing",
    `A read of the message store names no account (it has ${JSON.stringify(account) ?? "nothing"}).`,
  );
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
  return done(index.getAll(onlyUnder(key), limit));
}

/**
 * The first records whose index key begins with an account, in the order of those keys.
 *
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {string} account
 * @param {number} limit
 * @returns {Promise<any[]>}
 */
export function firstOfAccount(transaction, storeName, indexName, account, limit) {
  const index = indexOf(transaction, storeName, indexName);
  return done(index.getAll(accountPrefix(account), limit));
}

/**
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {IDBValidKey} key
 * @returns {Promise<number>}
 */
export function countUnder(transaction, storeName, indexName, key) {
  return done(indexOf(transaction, storeName, indexName).count(onlyUnder(key)));
}

/**
 * The primary keys of one conversation, all of them: for a rebuild, which deletes them in
 * the same transaction (OT-20).
 *
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {Promise<IDBValidKey[]>}
 */
export function keysOfConversation(
  transaction,
  storeName,
  channelAccountId,
  conversationId,
) {
  const index = indexOf(transaction, storeName, "by_account_conversation");
  return done(index.getAllKeys(onlyUnder([channelAccountId, conversationId])));
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
  const request = index.openCursor(onlyUnder(key));
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
  const cursor = await done(index.openKeyCursor(onlyUnder(key), "prev"));
  return cursor === null ? null : String(cursor.primaryKey);
}
