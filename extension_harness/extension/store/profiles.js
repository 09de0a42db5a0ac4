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
    for (const observed of profiles) {
      const key = conversationKey(channelAccountId, observed.conversationId);
      /** @type {ProfileRecord} */
      const before =
        (await done(store.get(key))) ??
        newProfile(channelAccountId, observed.conversationId);
      const outcome = outcomeOf(before, observed);
      counts[outcome] += 1;
      if (outcome === "skipped") continue;
      const { aliId, profile, fingerprint, observedAtMs } = observed;
      store.put(
        outcome === "moved"
          ? { ...before, uploadedObservedAtMs: observedAtMs, updatedAtMs: nowMs }
          : {
              ...before,
              updatedAtMs: nowMs,
              pending: { aliId, profile, fingerprint, observedAtMs },
            },
      );
    }
    return counts;
  });
}

/**
 * @param {ProfileRecord} before
 * @param {ObservedProfile} observed
 * @returns {"pending" | "moved" | "skipped"}
 */
function outcomeOf(before, { fingerprint, observedAtMs }) {
  const { pending, uploadedObservedAtMs, rejectedObservedAtMs } = before;
  if (pending !== undefined) {
    return observedAtMs > pending.observedAtMs ? "pending" : "skipped";
  }
  if (fingerprint === before.lastUploadedFingerprint) {
    return observedAtMs > uploadedObservedAtMs ? "moved" : "skipped";
  }
  const isAbove = observedAtMs > Math.max(uploadedObservedAtMs, rejectedObservedAtMs);
  return isAbove ? "pending" : "skipped";
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
export function confirmProfile(database, channelAccountId, named, nowMs) {
  return settle(database, channelAccountId, named, (before, pending) => ({
    ...before,
    aliId: pending.aliId,
    profile: pending.profile,
    lastUploadedFingerprint: pending.fingerprint,
    uploadedObservedAtMs: Math.max(before.uploadedObservedAtMs, pending.observedAtMs),
    updatedAtMs: nowMs,
    lastUploadedAtMs: nowMs,
  }));
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
export function dropProfile(database, channelAccountId, named, nowMs) {
  return settle(database, channelAccountId, named, (before, { observedAtMs }) => ({
    ...before,
    rejectedObservedAtMs: Math.max(before.rejectedObservedAtMs, observedAtMs),
    updatedAtMs: nowMs,
  }));
}

/**
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {ProfileName} named
 * @param {(before: Omit<ProfileRecord, "pending">, pending: PendingProfile) => ProfileRecord} change
 *     the record without its pending one
 * @returns {Promise<boolean>}
 */
function settle(database, channelAccountId, named, change) {
  const key = conversationKey(channelAccountId, named.conversationId);
  return database.write([PROFILES], async (transaction) => {
    const store = transaction.objectStore(PROFILES);
    /** @type {ProfileRecord | undefined} */
    const record = await done(store.get(key));
    if (record?.pending === undefined) return false;
    const { pending, ...before } = record;
    const isMeant =
      pending.fingerprint === named.fingerprint &&
      pending.observedAtMs === named.observedAtMs;
    if (isMeant) store.put(change(before, pending));
    return isMeant;
  });
}
