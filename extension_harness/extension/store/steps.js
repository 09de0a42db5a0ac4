// The numbered steps of the durable store's schema (OT-10 to OT-16). Each is synchronous
// and runs inside the one versionchange transaction: a throw aborts the whole upgrade and
// the database stays as it was. A fresh database runs them all.

import { StoreError } from "../shared/errors.js";

export const DATABASE_NAME = "trade-message-center";
export const DATABASE_VERSION = 10;

export const MESSAGES = "onetalk_messages";
export const CANDIDATES = "onetalk_candidates";
export const CHECKPOINTS = "onetalk_checkpoints";
export const ANOMALIES = "onetalk_anomalies";
export const PROFILES = "onetalk_contact_profiles";
export const BOOTSTRAPS = "onetalk_conversation_bootstraps";
export const BUYER_FACTS = "onetalk_buyer_facts";
export const CARDS = "onetalk_rendered_card_ledger";

const FIRST_FIVE = [MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES, PROFILES];

/**
 * @typedef {object} Step
 * @property {number} to the version that this step makes
 * @property {(database: IDBDatabase, transaction: IDBTransaction) => void} change
 *     returns nothing: what goes on after it returned is no part of the upgrade
 */

/** @type {readonly Step[]} */
const STEPS = [
  { to: 7, change: startClean },
  { to: 8, change: addBootstraps },
  { to: 9, change: addScopeIndexes },
  { to: 10, change: addBuyerFactsAndCardIndexes },
];

/**
 * Brings a database from any older version to the present one.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction the versionchange transaction
 * @param {number} oldVersion 0 for a fresh database
 * @param {number} [newVersion] the last step to take
 * @param {readonly Step[]} [steps]
 * @throws {StoreError} `upgrade_failed`: whoever opens the database has to abort
 */
export function upgrade(
  database,
  transaction,
  oldVersion,
  newVersion = DATABASE_VERSION,
  steps = STEPS,
) {
  for (const { to, change } of steps) {
    if (oldVersion >= to || to > newVersion) continue;
    /** @type {unknown} */
    let returned;
    try {
      returned = change(database, transaction);
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      throw stepFailure(to, detail, cause);
    }
    if (returned !== undefined) {
      // A promise, most likely: the transaction would be over before its work is.
      throw stepFailure(to, "it returned something, and a step has to be synchronous");
    }
  }
}

/**
 * @param {number} to
 * @param {string} detail
 * @param {unknown} [cause]
 */
function stepFailure(to, detail, cause) {
  return new StoreError(
    "upgrade_failed",
    `The message store stays at its old version, whole: the step to version ${to} failed (${detail}). The next start tries again; if it fails again, report this and update the extension.`,
    { cause },
  );
}

/**
 * OT-11: what is older than 7 is cleared, not re-keyed and not filled back, and this is
 * done before any index exists. A store that has another key than today's cannot hold
 * today's records: it is made anew. So are all indexes, by the later steps.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 */
function startClean(database, transaction) {
  for (const name of FIRST_FIVE) {
    if (database.objectStoreNames.contains(name)) {
      const store = transaction.objectStore(name);
      if (hasTodaysKey(store)) {
        store.clear();
        for (const index of Array.from(store.indexNames)) store.deleteIndex(index);
        continue;
      }
      database.deleteObjectStore(name);
    }
    database.createObjectStore(name, { keyPath: keyPathOf(name) });
  }
}

/**
 * OT-12: this alone.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 */
function addBootstraps(database, transaction) {
  createStore(database, transaction, BOOTSTRAPS);
}

/**
 * OT-13, OT-16: indexes on what exists; no record is touched. A database that never had
 * the card ledger gets it here, without indexes, as a version 9 database has it.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 */
function addScopeIndexes(database, transaction) {
  const account = "channelAccountId";
  const conversation = [account, "conversationId"];
  createIndex(transaction, CHECKPOINTS, "by_account", account);
  createIndex(transaction, CANDIDATES, "by_account_status", [account, "status"]);
  createIndex(transaction, CANDIDATES, "by_account_conversation", conversation);
  createIndex(transaction, CANDIDATES, "by_account_conversation_status", [
    ...conversation,
    "status",
  ]);
  createIndex(transaction, MESSAGES, "by_account_conversation", conversation);
  createIndex(transaction, ANOMALIES, "by_account_conversation", conversation);
  createIndex(transaction, PROFILES, "by_account", account);
  createIndex(transaction, PROFILES, "by_account_pending_observed_at", [
    account,
    "pending.observedAtMs",
  ]);
  createStore(database, transaction, CARDS);
}

/**
 * OT-14: one new store and two indexes, nothing else.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 */
function addBuyerFactsAndCardIndexes(database, transaction) {
  createStore(database, transaction, BUYER_FACTS);
  createIndex(transaction, CARDS, "by_account_status", ["channelAccountId", "status"]);
  createIndex(transaction, CARDS, "by_account_conversation", [
    "channelAccountId",
    "conversationId",
  ]);
}

/**
 * A store that is there already keeps every record; one that cannot hold today's records
 * is never silently kept.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 * @param {string} name
 */
function createStore(database, transaction, name) {
  if (!database.objectStoreNames.contains(name)) {
    database.createObjectStore(name, { keyPath: keyPathOf(name) });
  } else if (!hasTodaysKey(transaction.objectStore(name))) {
    throw new Error(`${name} is there with another key`);
  }
}

/** @param {string} storeName */
function keyPathOf(storeName) {
  return storeName === CANDIDATES ? "candidateKey" : "key";
}

/** @param {IDBObjectStore} store */
function hasTodaysKey(store) {
  return store.keyPath === keyPathOf(store.name) && !store.autoIncrement;
}

/**
 * Never unique: a unique index over old duplicates would abort every start. One that is
 * there under this name and is another is never silently kept.
 *
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} indexName
 * @param {string | string[]} keyPath
 */
function createIndex(transaction, storeName, indexName, keyPath) {
  const store = transaction.objectStore(storeName);
  if (!store.indexNames.contains(indexName)) {
    store.createIndex(indexName, keyPath, { unique: false });
    return;
  }
  const index = store.index(indexName);
  const isSame = JSON.stringify(index.keyPath) === JSON.stringify(keyPath);
  if (!isSame || index.unique || index.multiEntry) {
    throw new Error(`${storeName} has another index under the name ${indexName}`);
  }
}
