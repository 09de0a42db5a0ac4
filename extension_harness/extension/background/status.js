// What the popup shows: the connection, and where each conversation stands. Read from the
// store on demand, bounded; nothing of it is kept.

import {
  checkpointsOf,
  countCandidates,
  knownAccounts,
  readBootstraps,
} from "../store/checkpoints.js";
import { done } from "../store/database.js";
import { oldestPendingSince } from "../store/deliveries.js";
import { accountPrefix, countUnder, indexOf } from "../store/reads.js";
import { ANOMALIES, CANDIDATES } from "../store/steps.js";

const MAX_SHOWN = 30;
const MAX_ANOMALIES_READ = 200;
const MAX_ANOMALIES_SHOWN = 4;
const OLDEST_AMONG = 200;

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../store/database.js").Database} Database */

/**
 * @typedef {object} ConversationStatus
 * @property {string} conversationId
 * @property {string} title
 * @property {string} phase
 * @property {string | null} result
 * @property {number} pages
 * @property {number} confirmed
 * @property {number} pending
 * @property {number} progress 0 to 1
 */

/**
 * @typedef {object} PageStatus
 * @property {string} pageId
 * @property {string | null} channelAccountId null: nobody knows whose page it is
 * @property {boolean} isForeign the binding does not hold the account
 * @property {string[]} troubles
 */

/**
 * @typedef {object} AccountStatus
 * @property {string} channelAccountId
 * @property {number} pending
 * @property {number} awaiting
 * @property {number} confirmed
 * @property {number} rejected
 * @property {number} anomalies
 * @property {number | null} oldestPendingAtMs
 * @property {number} conversations
 * @property {number} completed those that nothing more is to be done for
 * @property {{code: string, conversationId: string, observedAtMs: number}[]} latestAnomalies
 * @property {ConversationStatus[]} shown the ones that need attention first
 */

/**
 * The OneTalk tabs that are open: whose page each shows, and what is wrong with it.
 *
 * @param {import("./pages.js").Page[]} pages
 * @param {import("./health.js").Health} health
 * @param {string[]} [held] the accounts that Bright takes; undefined: not connected
 * @returns {PageStatus[]}
 */
export function pageStatuses(pages, health, held) {
  const known = pages.map(({ tabId, pageId, channelAccountId }) => ({
    pageId,
    channelAccountId,
    isForeign: held !== undefined && !held.includes(channelAccountId),
    troubles: health.of(tabId),
  }));
  const ids = new Set(known.map(({ pageId }) => pageId));
  const others = health.troubled.filter(({ pageId }) => !ids.has(pageId));
  return [...known, ...others.map((each) => ({ ...each, isForeign: false }))];
}

/**
 * @param {Database} database
 * @returns {Promise<AccountStatus[]>}
 */
export async function accountStatuses(database) {
  const accounts = await knownAccounts(database);
  return Promise.all(accounts.map((account) => accountStatus(database, account)));
}

/**
 * @param {Database} database
 * @param {string} account
 * @returns {Promise<AccountStatus>}
 */
async function accountStatus(database, account) {
  /** @type {CheckpointRecord[]} */
  let worst = [];
  let conversations = 0;
  let completed = 0;
  for await (const page of checkpointsOf(database, account)) {
    conversations += page.length;
    completed += await countFinished(database, account, page);
    worst = [...worst, ...page].sort(worstFirst).slice(0, MAX_SHOWN);
  }
  const [pending, awaiting, confirmed, rejected, oldestPendingAtMs, anomalies, shown] =
    await Promise.all([
      countCandidates(database, account, "pending_ack"),
      countCandidates(database, account, "awaiting_anchor"),
      countCandidates(database, account, "confirmed"),
      countCandidates(database, account, "rejected"),
      oldestPendingSince(database, account, OLDEST_AMONG),
      anomalyStatus(database, account),
      conversationStatuses(database, account, worst),
    ]);
  return {
    channelAccountId: account,
    pending,
    awaiting,
    confirmed,
    rejected,
    anomalies: anomalies.count,
    latestAnomalies: anomalies.latest,
    oldestPendingAtMs,
    conversations,
    completed,
    shown,
  };
}

/**
 * Finished is what Bright has anchored, and what was read to its end and holds no valid
 * message: nothing of that can be anchored, ever.
 *
 * @param {Database} database
 * @param {string} account
 * @param {CheckpointRecord[]} checkpoints one page of them
 * @returns {Promise<number>}
 */
async function countFinished(database, account, checkpoints) {
  const completed = checkpoints.filter(({ phase }) => phase === "completed").length;
  const empty = checkpoints.filter(isEmpty);
  if (empty.length === 0) return completed;
  const waiting = await database.read([CANDIDATES], (transaction) =>
    Promise.all(
      empty.flatMap(({ conversationId }) =>
        ["pending_ack", "awaiting_anchor"].map(async (status) => {
          const key = [account, conversationId, status];
          const index = "by_account_conversation_status";
          const count = await countUnder(transaction, CANDIDATES, index, key);
          return count > 0 ? [conversationId] : [];
        }),
      ),
    ),
  );
  return completed + empty.length - new Set(waiting.flat()).size;
}

/** @param {CheckpointRecord} checkpoint */
function isEmpty({ phase, historyComplete, result }) {
  return phase !== "completed" && historyComplete && result === "no_valid_messages";
}

/**
 * @param {CheckpointRecord} left
 * @param {CheckpointRecord} right
 */
function worstFirst(left, right) {
  return rank(left) - rank(right) || right.lastObservedAtMs - left.lastObservedAtMs;
}

/** @param {CheckpointRecord} checkpoint */
function rank(checkpoint) {
  if (checkpoint.phase === "completed") return 4;
  if (checkpoint.result === "no_valid_messages") return 3;
  if (checkpoint.result !== null) return 0;
  return checkpoint.phase === "paging" ? 1 : 2;
}

/**
 * @param {Database} database
 * @param {string} account
 * @param {CheckpointRecord[]} checkpoints
 * @returns {Promise<ConversationStatus[]>}
 */
async function conversationStatuses(database, account, checkpoints) {
  const listed = await readBootstraps(
    database,
    checkpoints.map((checkpoint) => checkpoint.key),
  );
  const counts = await database.read([CANDIDATES], (transaction) =>
    Promise.all(
      checkpoints.map(async ({ conversationId }) => {
        /** @param {string} status */
        const count = (status) =>
          countUnder(transaction, CANDIDATES, "by_account_conversation_status", [
            account,
            conversationId,
            status,
          ]);
        const [pending, awaiting, confirmed] = await Promise.all([
          count("pending_ack"),
          count("awaiting_anchor"),
          count("confirmed"),
        ]);
        return { pending: pending + awaiting, confirmed };
      }),
    ),
  );
  return checkpoints.map((checkpoint, index) => ({
    conversationId: checkpoint.conversationId,
    title: listed[index]?.title ?? checkpoint.conversationId,
    phase: checkpoint.phase,
    result: checkpoint.result,
    pages: checkpoint.pages,
    ...counts[index],
    progress: progressOf(checkpoint, counts[index]),
  }));
}

/**
 * Half of the way is reading the history, half is having it confirmed. How long a history
 * is nobody knows before its end, so its half is approached and never passed.
 *
 * @param {CheckpointRecord} checkpoint
 * @param {{pending: number, confirmed: number}} counts
 */
function progressOf(checkpoint, counts) {
  if (checkpoint.phase === "completed") return 1;
  const total = counts.pending + counts.confirmed;
  const sent = total === 0 ? 0 : counts.confirmed / total;
  if (!checkpoint.historyComplete) {
    return (0.5 * checkpoint.pages) / (checkpoint.pages + 3) + 0.2 * sent;
  }
  return isEmpty(checkpoint) && counts.pending === 0 ? 1 : 0.5 + 0.45 * sent;
}

/**
 * @param {Database} database
 * @param {string} account
 */
function anomalyStatus(database, account) {
  return database.read([ANOMALIES], async (transaction) => {
    const index = indexOf(transaction, ANOMALIES, "by_account_conversation");
    const range = accountPrefix(account);
    const [count, read] = await Promise.all([
      done(index.count(range)),
      done(index.getAll(range, MAX_ANOMALIES_READ)),
    ]);
    const latest = read
      .sort((left, right) => right.observedAtMs - left.observedAtMs)
      .slice(0, MAX_ANOMALIES_SHOWN)
      .map(({ code, conversationId, observedAtMs }) => ({
        code,
        conversationId,
        observedAtMs,
      }));
    return { count, latest };
  });
}
