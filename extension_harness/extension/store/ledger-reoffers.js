// What the ledgers beside the messages tell again, because the server's store does not have
// it (any more).

import { conversationKey } from "../shared/keys.js";
import { checkpointsOf } from "./checkpoints.js";
import { done } from "./database.js";
import { pageUnder } from "./reads.js";
import { BUYER_FACTS, CARDS, PROFILES } from "./steps.js";

/** Records turned in one transaction. */
const STEP = 200;

/** @typedef {import("../shared/records.js").BuyerFactsRecord} BuyerFactsRecord */
/** @typedef {import("../shared/records.js").CardRecord} CardRecord */
/** @typedef {import("../shared/records.js").ProfileRecord} ProfileRecord */
/** @typedef {import("./database.js").Database} Database */

/**
 * Makes what Bright had pending again: of one conversation, or of a whole account. Bounded
 * transactions; running it twice does no harm, so a worker that dies on the way starts it
 * again. What newer is pending stays what it is.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string | null} conversationId null: the account
 * @returns {Promise<number>} records turned
 */
export async function reofferLedgers(database, channelAccountId, conversationId) {
  const account = channelAccountId;
  if (conversationId !== null) {
    const scope = [account, conversationId];
    const key = conversationKey(account, conversationId);
    const turned = await database.write(
      [PROFILES, BUYER_FACTS],
      async (transaction) => {
        const profile = await turn(transaction, PROFILES, key, untold);
        return profile + (await turn(transaction, BUYER_FACTS, key, unheard));
      },
    );
    const index = "by_account_conversation";
    return turned + (await turnUnder(database, CARDS, index, scope, unconfirmed));
  }
  const confirmed = [account, "confirmed"];
  return (
    (await turnUnder(database, PROFILES, "by_account", account, untold)) +
    (await turnUnder(database, CARDS, "by_account_status", confirmed, unconfirmed)) +
    (await turnFacts(database, account))
  );
}

/**
 * @template {{key: string}} T
 * @param {Database} database
 * @param {string} storeName
 * @param {string} indexName
 * @param {IDBValidKey} indexKey
 * @param {(before: T) => T | null} change null: leave it
 * @returns {Promise<number>}
 */
async function turnUnder(database, storeName, indexName, indexKey, change) {
  let turned = 0;
  /** @type {string | null} */
  let after = null;
  for (;;) {
    const page = { after, limit: STEP };
    /** @type {T[]} */
    const found = await database.write([storeName], async (transaction) => {
      const records = await pageUnder(
        transaction,
        storeName,
        indexName,
        indexKey,
        page,
      );
      const changed = records.map(change).filter((each) => each !== null);
      for (const each of changed) transaction.objectStore(storeName).put(each);
      turned += changed.length;
      return records;
    });
    if (found.length < STEP) return turned;
    after = found[found.length - 1].key;
  }
}

/**
 * @param {Database} database
 * @param {string} account
 */
async function turnFacts(database, account) {
  let turned = 0;
  for await (const page of checkpointsOf(database, account)) {
    turned += await database.write([BUYER_FACTS], async (transaction) => {
      let ofPage = 0;
      for (const { key } of page) {
        ofPage += await turn(transaction, BUYER_FACTS, key, unheard);
      }
      return ofPage;
    });
  }
  return turned;
}

/**
 * @template T
 * @param {IDBTransaction} transaction
 * @param {string} storeName
 * @param {string} key
 * @param {(before: T) => T | null} change null: leave it
 * @returns {Promise<number>} 1 when it was changed
 */
async function turn(transaction, storeName, key, change) {
  const store = transaction.objectStore(storeName);
  /** @type {T | undefined} */
  const before = await done(store.get(key));
  const after = before === undefined ? null : change(before);
  if (after !== null) store.put(after);
  return after === null ? 0 : 1;
}

/**
 * @param {ProfileRecord} before
 * @returns {ProfileRecord | null}
 */
function untold(before) {
  const { aliId, lastUploadedFingerprint: fingerprint, pending, profile } = before;
  if (typeof fingerprint !== "string" || !profile) return null;
  const observedAtMs = before.uploadedObservedAtMs ?? 0;
  return {
    ...before,
    lastUploadedFingerprint: null,
    pending: pending ?? { aliId, profile, fingerprint, observedAtMs },
  };
}

/**
 * @param {CardRecord} before
 * @returns {CardRecord | null}
 */
function unconfirmed(before) {
  if (before.status !== "confirmed") return null;
  /** @type {CardRecord} */
  const after = { ...before, status: "pending_ack" };
  delete after.confirmedAtMs;
  return after;
}

/**
 * @param {BuyerFactsRecord} before
 * @returns {BuyerFactsRecord | null}
 */
function unheard(before) {
  const isHeard = (before.uploadedFingerprint ?? null) !== null;
  return isHeard ? { ...before, uploadedFingerprint: null } : null;
}
