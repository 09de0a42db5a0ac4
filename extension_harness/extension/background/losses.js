// What a page saw and could not keep (its queue was full). Newer messages may be stored and
// proven before it is read again, and would then seem to cover it; so each conversation is
// marked before anything newer of it comes: it is claimed no more (OT-43) until its history
// was walked again, from the newest down to the anchor that it had.

import { checkpointsOf, updateCheckpoint } from "../store/checkpoints.js";

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */

/**
 * @param {import("../store/database.js").Database} database
 * @param {unknown} lost pairs of an account and a conversation, or null for any of it; the
 *     page's word, so anything else is passed over
 * @returns {Promise<void>} when the marks are on disk
 * @throws {import("../shared/errors.js").StoreError}
 */
export async function noteLost(database, lost) {
  for (const pair of Array.isArray(lost) ? lost : []) {
    const [account, conversation] = Array.isArray(pair) ? pair : [];
    if (!isName(account)) continue;
    if (isName(conversation)) {
      await updateCheckpoint(database, account, conversation, behind);
    } else if (conversation === null) {
      for await (const page of checkpointsOf(database, account)) {
        for (const { conversationId } of page) {
          await updateCheckpoint(database, account, conversationId, behind);
        }
      }
    }
  }
}

/**
 * @param {CheckpointRecord} seen
 * @returns {CheckpointRecord | null}
 */
function behind(seen) {
  return seen.isBehind === true ? null : { ...seen, isBehind: true };
}

/** @param {unknown} name */
function isName(name) {
  return typeof name === "string" && name !== "" && name.length <= 256;
}
