// What is known of a conversation's buyer: the newest observation, and which of them Bright
// has. Read by primary key alone.

import { conversationKey } from "../shared/keys.js";
import { done } from "./database.js";
import { BUYER_FACTS } from "./steps.js";

/** @typedef {import("../shared/records.js").BuyerFactsRecord} BuyerFactsRecord */
/** @typedef {import("./database.js").Database} Database */

/** @typedef {Omit<BuyerFactsRecord, "key" | "uploadedFingerprint">} ObservedFacts */

/**
 * Takes an observation over if it is strictly newer than what is there.
 *
 * @param {Database} database
 * @param {ObservedFacts} observed
 * @returns {Promise<boolean>} whether it was taken
 */
export function recordBuyerFacts(database, observed) {
  const { channelAccountId, conversationId, facts, fingerprint, observedAtMs } =
    observed;
  const key = conversationKey(channelAccountId, conversationId);
  return database.write([BUYER_FACTS], async (transaction) => {
    const store = transaction.objectStore(BUYER_FACTS);
    /** @type {BuyerFactsRecord | undefined} */
    const before = await done(store.get(key));
    if (before !== undefined && observedAtMs <= before.observedAtMs) return false;
    // Other facts than Bright's: also if they were Bright's once, it may have those between.
    const isSame = before?.fingerprint === fingerprint;
    /** @type {BuyerFactsRecord} */
    const after = {
      key,
      channelAccountId,
      conversationId,
      facts,
      fingerprint,
      observedAtMs,
      uploadedFingerprint: isSame ? (before.uploadedFingerprint ?? null) : null,
    };
    store.put(after);
    return true;
  });
}

/**
 * Records by primary key, in the order asked; undefined where there is none.
 *
 * @param {Database} database
 * @param {string[]} keys
 * @returns {Promise<(BuyerFactsRecord | undefined)[]>}
 */
export function readBuyerFacts(database, keys) {
  return database.read([BUYER_FACTS], (transaction) => {
    const store = transaction.objectStore(BUYER_FACTS);
    return Promise.all(keys.map((key) => done(store.get(key))));
  });
}

/**
 * Bright has exactly these facts.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {{conversationId: string, fingerprint: string, observedAtMs: number}} named
 * @returns {Promise<boolean>} false: they are others by now, or there are none
 */
export function confirmBuyerFacts(database, channelAccountId, named) {
  const { conversationId, fingerprint, observedAtMs } = named;
  const key = conversationKey(channelAccountId, conversationId);
  return database.write([BUYER_FACTS], async (transaction) => {
    const store = transaction.objectStore(BUYER_FACTS);
    /** @type {BuyerFactsRecord | undefined} */
    const before = await done(store.get(key));
    const isMeant =
      before !== undefined &&
      before.fingerprint === fingerprint &&
      before.observedAtMs === observedAtMs;
    if (isMeant) store.put({ ...before, uploadedFingerprint: fingerprint });
    return isMeant;
  });
}

/**
 * Bright can never take exactly these facts: they go, and what is observed next counts,
 * whatever its time.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {{conversationId: string, fingerprint: string, observedAtMs: number}} named
 * @returns {Promise<boolean>} false: they are others by now, or there are none
 */
export function dropBuyerFacts(database, channelAccountId, named) {
  const { conversationId, fingerprint, observedAtMs } = named;
  const key = conversationKey(channelAccountId, conversationId);
  return database.write([BUYER_FACTS], async (transaction) => {
    const store = transaction.objectStore(BUYER_FACTS);
    /** @type {BuyerFactsRecord | undefined} */
    const before = await done(store.get(key));
    const isMeant =
      before !== undefined &&
      before.fingerprint === fingerprint &&
      before.observedAtMs === observedAtMs;
    if (isMeant) store.delete(key);
    return isMeant;
  });
}
