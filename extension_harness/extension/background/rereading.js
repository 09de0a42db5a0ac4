// Reading a conversation's history again, on somebody's word: from the newest down to what
// is known, or, rebuilt, as if it had never been met (OT-20).

import { conversationKey } from "../shared/keys.js";
import {
  readBootstraps,
  readCheckpoint,
  takeList,
  updateCheckpoint,
} from "../store/checkpoints.js";
import { rebuildConversation } from "../store/rebuild.js";
import { isStuck } from "./walks.js";

/** @typedef {import("../store/database.js").Database} Database */

/**
 * Marks a history as one that is to be read again; when this returns, that is on disk.
 *
 * @param {Database} database
 * @param {string} account
 * @param {string} conversation
 * @param {number} nowMs
 * @returns {Promise<boolean>} false: the conversation is not known here
 * @throws {import("../shared/errors.js").StoreError}
 */
export async function markForReading(database, account, conversation, nowMs) {
  const marked = await updateCheckpoint(database, account, conversation, (seen) => ({
    ...seen,
    // One whose walk has not begun begins at the newest in any case.
    isBehind: seen.historyComplete || seen.pages > 0,
    result: isStuck(seen) ? null : seen.result,
  }));
  return marked !== null || (await meetAgain(database, account, conversation, nowMs));
}

/**
 * Forgets what was recorded of a conversation and meets it anew, as its list told of it.
 *
 * @param {Database} database
 * @param {string} account
 * @param {string} conversation
 * @param {number} nowMs
 * @returns {Promise<import("../store/rebuild.js").Rebuilt | null>} null: it is not known
 *     here
 * @throws {import("../shared/errors.js").StoreError}
 */
export async function rebuild(database, account, conversation, nowMs) {
  const known = await readCheckpoint(database, account, conversation);
  const listed = await listedAs(database, account, conversation);
  if (known === undefined && listed === undefined) return null;
  const gone = await rebuildConversation(database, account, conversation);
  const anew = listed ?? { conversationId: conversation, latestMessageAtMs: null };
  await takeList(database, account, [anew], nowMs);
  return gone;
}

/**
 * @param {Database} database
 * @param {string} account
 * @param {string} conversation
 * @param {number} nowMs
 */
async function meetAgain(database, account, conversation, nowMs) {
  const listed = await listedAs(database, account, conversation);
  if (listed === undefined) return false;
  await takeList(database, account, [listed], nowMs);
  return true;
}

/**
 * @param {Database} database
 * @param {string} account
 * @param {string} conversation
 * @returns {Promise<import("../store/checkpoints.js").ListedConversation | undefined>}
 */
async function listedAs(database, account, conversation) {
  const [found] = await readBootstraps(database, [
    conversationKey(account, conversation),
  ]);
  if (found === undefined) return undefined;
  const { latestMessageAtMs = null, title } = found;
  const listed = { conversationId: conversation, latestMessageAtMs };
  return title === undefined ? listed : { ...listed, title };
}
