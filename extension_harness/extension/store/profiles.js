// The ledger of contact profiles (OT-80 to OT-84): a state machine of its own. The newest
// observation that Bright has not confirmed is pending; what is confirmed or dropped leaves
// a mark, above which an observation has to be to count.

import { conversationKey } from "../shared/keys.js";
import { done } from "./database.js";
import { firstOfAccount } from "./reads.js";
import { PROFILES } from "./steps.js";

/** @typedef {import("../shared/records.js").PendingProfile} PendingProfile */
/** @typedef {import("../shared/records.js").ProfileRecord} ProfileRecord */
/** @typedef {import("./database.js").Database} Database */

/** @typedef {PendingProfile & {conversationId: string}} ObservedProfile */

/**
 * A pending profile named exactly, as an ACK or a refusal names it (OT-83, OT-84).
 *
 * @typedef {object} ProfileName
 * @property {string} conversationId
 * @property {string} fingerprint
 * @property {number} observedAtMs
 */

/**
 * Takes observations over, in order; latest wins, strictly, by observed time (OT-81).
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {ObservedProfile[]} profiles at most a few hundred
 * @param {number} nowMs
 * @returns {Promise<{pending: number, moved: number, skipped: number}>}
 */
export function observeProfiles(database, channelAccountId, profiles, nowMs) {
  return database.write([PROFILES], async (transaction) => {
    const store = transaction.objectStore(PROFILES);
    const counts = { pending: 0, moved: 0, skipped: 0 };
    const records = await recordsOf(store, channelAccountId, profiles);
    for (const observed of profiles) {
      const before =
        records.get(observed.conversationId) ??
        newProfile(channelAccountId, observed.conversationId);
      const outcome = outcomeOf(before, observed);
      counts[outcome] += 1;
      if (outcome === "skipped") continue;
      const { aliId, profile, fingerprint, observedAtMs } = observed;
      /** @type {ProfileRecord} */
      const after =
        outcome === "moved"
          ? { ...before, uploadedObservedAtMs: observedAtMs, updatedAtMs: nowMs }
          : {
              ...before,
              updatedAtMs: nowMs,
              pending: { aliId, profile, fingerprint, observedAtMs },
            };
      store.put(after);
      records.set(observed.conversationId, after);
    }
    return counts;
  });
}

/**
 * What is there of each, asked for at once: one after the other they would take a list of
 * 20,000 contacts several times as long.
 *
 * @param {IDBObjectStore} store
 * @param {string} channelAccountId
 * @param {ObservedProfile[]} profiles
 * @returns {Promise<Map<string, ProfileRecord>>} by conversation
 */
async function recordsOf(store, channelAccountId, profiles) {
  /** @type {Map<string, ProfileRecord>} */
  const records = new Map();
  await Promise.all(
    profiles.map(async ({ conversationId }) => {
      const key = conversationKey(channelAccountId, conversationId);
      const found = await done(store.get(key));
      if (found !== undefined) records.set(conversationId, found);
    }),
  );
  return records;
}

/**
 * What an older version's record lacks counts as 0: no mark, observed at no time.
 *
 * @param {ProfileRecord} before
 * @param {ObservedProfile} observed
 * @returns {"pending" | "moved" | "skipped"}
 */
function outcomeOf(before, { fingerprint, observedAtMs }) {
  const { pending } = before;
  const uploadedAtMs = before.uploadedObservedAtMs ?? 0;
  const rejectedAtMs = before.rejectedObservedAtMs ?? 0;
  if (hasPending(pending)) {
    return observedAtMs > (pending.observedAtMs ?? 0) ? "pending" : "skipped";
  }
  if (fingerprint === before.lastUploadedFingerprint) {
    return observedAtMs > uploadedAtMs ? "moved" : "skipped";
  }
  const isAbove = observedAtMs > Math.max(uploadedAtMs, rejectedAtMs);
  return isAbove ? "pending" : "skipped";
}

/**
 * @param {PendingProfile | null | undefined} pending older versions wrote null for none
 * @returns {pending is PendingProfile}
 */
function hasPending(pending) {
  return pending !== undefined && pending !== null;
}

/**
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {ProfileRecord}
 */
function newProfile(channelAccountId, conversationId) {
  return {
    key: conversationKey(channelAccountId, conversationId),
    channelAccountId,
    conversationId,
    aliId: null,
    profile: null,
    lastUploadedFingerprint: null,
    uploadedObservedAtMs: 0,
    rejectedObservedAtMs: 0,
    updatedAtMs: 0,
    lastUploadedAtMs: null,
  };
}

/**
 * What waits for Bright, oldest observation first; a record without a pending profile has
 * no entry there (OT-19).
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {{limit: number}} page
 * @returns {Promise<ProfileRecord[]>}
 * @throws {import("../shared/errors.js").StoreError} `scope_missing`
 */
export function listPendingProfiles(database, channelAccountId, { limit }) {
  const index = "by_account_pending_observed_at";
  return database.read([PROFILES], (transaction) =>
    firstOfAccount(transaction, PROFILES, index, channelAccountId, limit),
  );
}

/**
 * Bright has exactly this one: when this returns, that is on disk (OT-83).
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {ProfileName} named
 * @param {number} nowMs
 * @returns {Promise<boolean>} false: it is not pending (any more)
 */
export async function confirmProfile(database, channelAccountId, named, nowMs) {
  const answer = { confirmed: [named], refused: [] };
  return (await settleProfiles(database, channelAccountId, answer, nowMs)) === 1;
}

/**
 * Bright refuses exactly this one; a newer observation is another (OT-84).
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {ProfileName} named
 * @param {number} nowMs
 * @returns {Promise<boolean>} false: it is not pending (any more)
 */
export async function dropProfile(database, channelAccountId, named, nowMs) {
  const answer = { confirmed: [], refused: [named] };
  return (await settleProfiles(database, channelAccountId, answer, nowMs)) === 1;
}

/**
 * Takes over what Bright says of many, each as if alone, in one transaction: when this
 * returns, all of it is on disk.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {{confirmed: ProfileName[], refused: ProfileName[]}} answer at most a few hundred
 * @param {number} nowMs
 * @returns {Promise<number>} how many of them counted
 */
export function settleProfiles(database, channelAccountId, answer, nowMs) {
  return database.write([PROFILES], async (transaction) => {
    const store = transaction.objectStore(PROFILES);
    /**
     * @param {ProfileName[]} names
     * @param {Change} change
     */
    const all = async (names, change) => {
      let settled = 0;
      for (const named of names) {
        if (await settle(store, channelAccountId, named, change)) settled += 1;
      }
      return settled;
    };
    const confirmed = await all(answer.confirmed, (before, pending) =>
      uploaded(before, pending, nowMs),
    );
    const refused = await all(answer.refused, (before, { observedAtMs }) => ({
      ...before,
      rejectedObservedAtMs: Math.max(before.rejectedObservedAtMs ?? 0, observedAtMs),
      updatedAtMs: nowMs,
    }));
    return confirmed + refused;
  });
}

/**
 * @typedef {(before: Omit<ProfileRecord, "pending">, pending: PendingProfile) => ProfileRecord} Change
 *     of a record without its pending one
 */

/**
 * @param {Omit<ProfileRecord, "pending">} before
 * @param {PendingProfile} pending
 * @param {number} nowMs
 * @returns {ProfileRecord}
 */
function uploaded(before, pending, nowMs) {
  const { aliId, fingerprint, observedAtMs, profile } = pending;
  return {
    ...before,
    aliId,
    profile,
    lastUploadedFingerprint: fingerprint,
    uploadedObservedAtMs: Math.max(before.uploadedObservedAtMs ?? 0, observedAtMs),
    updatedAtMs: nowMs,
    lastUploadedAtMs: nowMs,
  };
}

/**
 * @param {IDBObjectStore} store
 * @param {string} channelAccountId
 * @param {ProfileName} named
 * @param {Change} change
 * @returns {Promise<boolean>}
 */
async function settle(store, channelAccountId, named, change) {
  const key = conversationKey(channelAccountId, named.conversationId);
  /** @type {ProfileRecord | undefined} */
  const record = await done(store.get(key));
  if (record === undefined) return false;
  const { pending, ...before } = record;
  if (!hasPending(pending)) return false;
  const isMeant =
    pending.fingerprint === named.fingerprint &&
    pending.observedAtMs === named.observedAtMs;
  if (isMeant) store.put(change(before, pending));
  return isMeant;
}
