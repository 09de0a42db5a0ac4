// Contact profiles out of the page's lists into their ledger (OT-80, OT-81): in transactions
// of their own, so that they can hold up nothing else (OT-87).

import { digestOf } from "../shared/normal-form.js";
import { redact } from "../shared/redaction.js";
import { observeProfiles } from "../store/profiles.js";
import { writtenApart } from "./ledger-writes.js";

/** @typedef {import("../shared/records.js").Profile} Profile */
/** @typedef {import("../store/profiles.js").ObservedProfile} ObservedProfile */

const FIELDS = ["name", "companyName", "loginId", "country", "level", "portrait"];
const MAX_ID = 64;
const MAX_TEXT = 500;

/**
 * Records what a part of a list says of its contacts; when this returns, it is on disk.
 *
 * @param {import("../store/database.js").Database} database
 * @param {string} channelAccountId
 * @param {any[]} rows of a list, at most a few hundred, each with its `conversationId`
 * @param {number} observedAtMs when the page said it
 * @returns {Promise<number>} how many of them Bright does not know yet
 * @throws {import("../shared/errors.js").StoreError} `profiles_not_recorded`, or what the whole store suffers from
 */
export async function recordProfiles(database, channelAccountId, rows, observedAtMs) {
  const what = `The profiles of ${rows.length} contacts`;
  return writtenApart("profiles_not_recorded", what, async () => {
    const observed = await observedIn(rows, channelAccountId, observedAtMs);
    if (observed.length === 0) return 0;
    const counts = await observeProfiles(
      database,
      channelAccountId,
      observed,
      observedAtMs,
    );
    return counts.pending;
  });
}

/**
 * @param {any[]} rows
 * @param {string} channelAccountId
 * @param {number} observedAtMs
 * @returns {Promise<ObservedProfile[]>}
 */
async function observedIn(rows, channelAccountId, observedAtMs) {
  /** @type {ObservedProfile[]} */
  const observed = [];
  for (const { conversationId, contact } of rows) {
    const aliId = contact?.aliId;
    // The signed-in user is nobody's contact (OT-86).
    if (!isId(aliId) || aliId === channelAccountId) continue;
    const profile = profileOf(contact.profile);
    if (Object.keys(profile).length === 0) continue;
    const fingerprint = await digestOf({ aliId, profile });
    observed.push({ conversationId, aliId, profile, fingerprint, observedAtMs });
  }
  return observed;
}

/** @param {unknown} value */
function isId(value) {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID;
}

/**
 * The page's word is not taken for it: only the known fields, as bounded texts, without
 * what looks like a secret.
 *
 * @param {any} said
 * @returns {Profile}
 */
function profileOf(said) {
  const known = FIELDS.flatMap((name) => {
    const value = said?.[name];
    const isText = typeof value === "string" && value !== "";
    return isText ? [[name, value.slice(0, MAX_TEXT).toWellFormed()]] : [];
  });
  return redact(Object.fromEntries(known));
}
