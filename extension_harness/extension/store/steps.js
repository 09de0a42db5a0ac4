// The numbered steps of the durable store's schema (OT-10 to OT-16). Each is synchronous
// and runs inside the one versionchange transaction: a throw aborts the whole upgrade and
// the database stays as it was. A fresh database runs them all.

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
 */
export function upgrade(database, transaction, oldVersion) {
  for (const step of STEPS) {
    if (oldVersion < step.to) step.change(database, transaction);
  }
}

/**
 * OT-11: what is older than 7 is cleared, not re-keyed and not filled back, and this is
 * done before any index exists.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 */
function startClean(database, transaction) {
  for (const name of FIRST_FIVE) {
    if (database.objectStoreNames.contains(name)) transaction.objectStore(name).clear();
    else createStore(database, name);
  }
}

/** @param {IDBDatabase} database */
function addBootstraps(database) {
  createStore(database, BOOTSTRAPS); // OT-12: this alone
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
  createStore(database, CARDS);
}

/**
 * OT-14: one new store and two indexes, nothing else.
 *
 * @param {IDBDatabase} database
 * @param {IDBTransaction} transaction
 */
function addBuyerFactsAndCardIndexes(database, transaction) {
  createStore(database, BUYER_FACTS);
  createIndex(transaction, CARDS, "by_account_status", ["channelAccountId", "status"]);
  createIndex(transaction, CARDS, "by_account_conversation", [
    "channelAccountId",
    "conversationId",
  ]);
}

/**
 * @param {IDBDatabase} database
 * @param {string} name
 */
function createStore(database, name) {
  if (database.objectStoreNames.contains(name)) return;
  const keyPath = name === CANDIDATES ? "candidateKey" : "key";
  database.createObjectStore(name, { keyPath });
}

/**
 * Never unique: a unique index over old duplicates would abort every start.
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
  }
}
