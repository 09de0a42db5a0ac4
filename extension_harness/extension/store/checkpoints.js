// Checkpoints and bootstraps: where each conversation stands, and what the list said of it.

import { conversationKey } from "../shared/keys.js";
import { done } from "./database.js";
import { countUnder, indexOf, pageUnder } from "./reads.js";
import { BOOTSTRAPS, CANDIDATES, CHECKPOINTS } from "./steps.js";

/** Checkpoints read at a time. */
const PAGE = 200;
/** Accounts of one installation that are looked after. */
const MAX_ACCOUNTS = 50;

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../shared/records.js").BootstrapRecord} BootstrapRecord */
/** @typedef {import("./database.js").Database} Database */

/** What a conversation just met is: full, from the newest (OT-40). */
const FRESH = Object.freeze({
  phase: /** @type {const} */ ("paging"),
  syncMode: /** @type {const} */ ("full"),
  anchorState: /** @type {const} */ ("none"),
  anchorMessageId: null,
  pageTimeStamp: null,
  nextTimeStamp: null,
  historyComplete: false,
  latestMessageId: null,
  latestCandidateKey: null,
  latestMessageAtMs: null,
  scannedActivityMs: null,
  completionSent: false,
  lastObservedAtMs: 0,
  result: null,
  pages: 0,
});

/**
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {CheckpointRecord}
 */
function newCheckpoint(channelAccountId, conversationId) {
  const key = conversationKey(channelAccountId, conversationId);
  return { key, channelAccountId, conversationId, ...FRESH };
}

/**
 * A checkpoint that an older version wrote may lack what came later: it reads as of a
 * conversation just met. On disk it stays as it is until it is changed (OT-12 to OT-14).
 *
 * @param {CheckpointRecord} record
 * @returns {CheckpointRecord}
 */
export function wholeCheckpoint(record) {
  /** @type {Record<string, unknown>} */
  const whole = { ...record };
  for (const [name, value] of Object.entries(FRESH)) whole[name] ??= value;
  return /** @type {CheckpointRecord} */ (whole);
}

/**
 * @param {IDBTransaction} transaction over the checkpoints
 * @param {string} key
 * @returns {Promise<CheckpointRecord | undefined>}
 */
export async function checkpointAt(transaction, key) {
  const found = await done(transaction.objectStore(CHECKPOINTS).get(key));
  return found === undefined ? undefined : wholeCheckpoint(found);
}

/**
 * Reads, changes and writes one checkpoint inside a transaction; makes it when missing.
 *
 * @param {IDBTransaction} transaction
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {(before: CheckpointRecord) => CheckpointRecord} change
 * @returns {Promise<CheckpointRecord>} as written
 */
export async function changeCheckpoint(
  transaction,
  channelAccountId,
  conversationId,
  change,
) {
  const key = conversationKey(channelAccountId, conversationId);
  const before = await checkpointAt(transaction, key);
  const after = change(before ?? newCheckpoint(channelAccountId, conversationId));
  transaction.objectStore(CHECKPOINTS).put(after);
  return after;
}

/**
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {Promise<CheckpointRecord | undefined>}
 */
export function readCheckpoint(database, channelAccountId, conversationId) {
  const key = conversationKey(channelAccountId, conversationId);
  return database.read([CHECKPOINTS], (transaction) => checkpointAt(transaction, key));
}

/**
 * Changes one existing checkpoint; nothing happens when there is none.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {(before: CheckpointRecord) => CheckpointRecord | null} change null: leave it
 * @returns {Promise<CheckpointRecord | null>} as written
 */
export function updateCheckpoint(database, channelAccountId, conversationId, change) {
  const key = conversationKey(channelAccountId, conversationId);
  return database.write([CHECKPOINTS], async (transaction) => {
    const before = await checkpointAt(transaction, key);
    const after = before === undefined ? null : change(before);
    if (after !== null) transaction.objectStore(CHECKPOINTS).put(after);
    return after;
  });
}

/**
 * @typedef {object} ListedConversation
 * @property {string} conversationId
 * @property {number | null} latestMessageAtMs
 * @property {string} [title]
 */

/**
 * Takes a part of the conversation list over: bootstraps, and the activity times that only
 * the list may give (OT-05). The activity time never moves backwards.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {ListedConversation[]} conversations at most a few hundred
 * @param {number} listedAtMs
 * @returns {Promise<string[]>} the conversations that have a checkpoint only now
 */
export function takeList(database, channelAccountId, conversations, listedAtMs) {
  return database.write([BOOTSTRAPS, CHECKPOINTS], async (transaction) => {
    const bootstraps = transaction.objectStore(BOOTSTRAPS);
    /** @type {string[]} */
    const met = [];
    /** @type {Map<string, number | null>} the latest of all that the list says */
    const latest = new Map();
    for (const listed of conversations) {
      const { conversationId, latestMessageAtMs } = listed;
      /** @type {BootstrapRecord} */
      const bootstrap = {
        key: conversationKey(channelAccountId, conversationId),
        channelAccountId,
        ...listed,
        listedAtMs,
      };
      bootstraps.put(bootstrap);
      const known = latest.get(conversationId) ?? null;
      latest.set(conversationId, later(known, latestMessageAtMs));
    }
    await Promise.all(
      Array.from(latest, async ([conversationId, listedAtMs]) => {
        const key = conversationKey(channelAccountId, conversationId);
        const before = await checkpointAt(transaction, key);
        if (before === undefined) met.push(conversationId);
        const latestMessageAtMs = later(before?.latestMessageAtMs ?? null, listedAtMs);
        // Most of a list is as it was the last time: nothing is written for that.
        if (before?.latestMessageAtMs === latestMessageAtMs) return;
        const known = before ?? newCheckpoint(channelAccountId, conversationId);
        transaction.objectStore(CHECKPOINTS).put({ ...known, latestMessageAtMs });
      }),
    );
    return met;
  });
}

/**
 * @param {number | null} left
 * @param {number | null} right
 */
function later(left, right) {
  if (left === null || right === null) return left ?? right;
  return Math.max(left, right);
}

/**
 * Every checkpoint of an account, a bounded page at a time, each page in a transaction of
 * its own.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @returns {AsyncGenerator<CheckpointRecord[]>}
 */
export async function* checkpointsOf(database, channelAccountId) {
  /** @type {string | null} */
  let after = null;
  for (;;) {
    const start = after;
    /** @type {CheckpointRecord[]} */
    const page = await database.read([CHECKPOINTS], (transaction) =>
      pageUnder(transaction, CHECKPOINTS, "by_account", channelAccountId, {
        after: start,
        limit: PAGE,
      }),
    );
    if (page.length > 0) yield page.map(wholeCheckpoint);
    if (page.length < PAGE) return;
    after = page[page.length - 1].key;
  }
}

/**
 * Bootstraps by primary key, in the order asked; undefined where the list never had one.
 *
 * @param {Database} database
 * @param {string[]} keys
 * @returns {Promise<(BootstrapRecord | undefined)[]>}
 */
export function readBootstraps(database, keys) {
  return database.read([BOOTSTRAPS], (transaction) => {
    const store = transaction.objectStore(BOOTSTRAPS);
    return Promise.all(keys.map((key) => done(store.get(key))));
  });
}

/**
 * The accounts that have any conversation here, at most `MAX_ACCOUNTS`: a step of the
 * index each, however many conversations they have.
 *
 * @param {Database} database
 * @returns {Promise<string[]>}
 */
export function knownAccounts(database) {
  return database.read([CHECKPOINTS], async (transaction) => {
    const index = indexOf(transaction, CHECKPOINTS, "by_account");
    /** @type {string[]} */
    const accounts = [];
    while (accounts.length < MAX_ACCOUNTS) {
      const beyond = IDBKeyRange.lowerBound(accounts[accounts.length - 1] ?? "", true);
      const cursor = await done(index.openKeyCursor(beyond));
      if (cursor === null) break;
      accounts.push(String(cursor.key));
    }
    return accounts;
  });
}

/**
 * How many candidates of an account are in one state.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {import("../shared/records.js").CandidateStatus} status
 * @returns {Promise<number>}
 */
export function countCandidates(database, channelAccountId, status) {
  return database.read([CANDIDATES], (transaction) =>
    countUnder(transaction, CANDIDATES, "by_account_status", [
      channelAccountId,
      status,
    ]),
  );
}
