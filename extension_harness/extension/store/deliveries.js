// Candidates on their way to Bright: what goes up next, what an ACK changes, and what has
// to go up again. Oldest first within a conversation (OT-42).

import {
  candidateKey,
  candidateKeySpan,
  candidateOrder,
  conversationKey,
  messageKey,
  readCandidateKey,
} from "../shared/keys.js";
import { changeCheckpoint, checkpointAt } from "./checkpoints.js";
import { done } from "./database.js";
import { writeAnomalies } from "./observations.js";
import { countUnder, firstUnder, indexOf, onlyUnder } from "./reads.js";
import { ANOMALIES, CANDIDATES, CHECKPOINTS, MESSAGES } from "./steps.js";

/** Candidates turned in one transaction when an account is offered again. */
const REOFFER_STEP = 500;

/** @typedef {import("./database.js").Database} Database */
/** @typedef {import("../shared/records.js").CandidateRecord} CandidateRecord */
/** @typedef {import("../shared/records.js").CandidateStatus} CandidateStatus */
/** @typedef {import("../shared/records.js").MessageRecord} MessageRecord */
/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../shared/records.js").AnomalyRecord} AnomalyRecord */

/**
 * Conversations of an account that have something to send, in key order, each found with
 * one step of a key cursor.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {{limit: number, after: string | null}} page `after`: a conversation id
 * @returns {Promise<string[]>}
 */
export function pendingConversations(database, channelAccountId, page) {
  return database.read([CANDIDATES], (transaction) => {
    const index = indexOf(transaction, CANDIDATES, "by_account_status");
    const key = [channelAccountId, "pending_ack"];
    const request = index.openKeyCursor(onlyUnder(key));
    return new Promise((resolve, reject) => {
      /** @type {string[]} */
      const found = [];
      let skip =
        page.after === null
          ? null
          : candidateKeySpan(channelAccountId, page.after).last;
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor === null) return resolve(found);
        const primary = String(cursor.primaryKey);
        if (skip === null || primary > skip) {
          const conversationId = readCandidateKey(primary)?.conversationId ?? "";
          const span = candidateKeySpan(channelAccountId, conversationId);
          // Another version's key: it names no conversation of this account.
          if (!primary.startsWith(span.first)) return cursor.continue();
          found.push(conversationId);
          if (found.length >= page.limit) return resolve(found);
          skip = span.last;
        }
        cursor.continuePrimaryKey(key, skip);
      };
    });
  });
}

/**
 * The next candidates of a conversation, oldest first, with their messages.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {number} limit
 * @returns {Promise<{candidate: CandidateRecord, message: MessageRecord | undefined}[]>}
 *     no message: only records that another version wrote can be so
 */
export function nextPending(database, channelAccountId, conversationId, limit) {
  return database.read([CANDIDATES, MESSAGES], async (transaction) => {
    /** @type {CandidateRecord[]} */
    const candidates = await firstUnder(
      transaction,
      CANDIDATES,
      "by_account_conversation_status",
      [channelAccountId, conversationId, "pending_ack"],
      limit,
    );
    const messages = transaction.objectStore(MESSAGES);
    const pairs = await Promise.all(
      candidates.map(async (candidate) => ({
        candidate,
        message: await done(
          messages.get(
            messageKey(channelAccountId, conversationId, candidate.messageId),
          ),
        ),
      })),
    );
    return pairs;
  });
}

/**
 * One usable result of an `observation.ack`.
 *
 * @typedef {object} DeliveryResult
 * @property {string | null} candidateKey null: found by `messageId` (OT-18)
 * @property {string} messageId
 * @property {"confirmed" | "conflict" | "rejected"} status
 * @property {number} [sequence]
 * @property {string} [code]
 * @property {AnomalyRecord | null} [ifConflict]
 */

/**
 * @typedef {object} Applied
 * @property {number} changed candidates that this changed
 * @property {number} pending candidates of the conversation that are still to be confirmed
 * @property {CheckpointRecord | null} checkpoint null: there is no such conversation
 */

/**
 * Takes an ACK's results over. Each is one primary-key read and counts only while that
 * candidate is `pending_ack`: unknown, doubled and late results change nothing (OT-18).
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {DeliveryResult[]} results
 * @param {number} nowMs
 * @returns {Promise<Applied>}
 */
export function applyResults(
  database,
  channelAccountId,
  conversationId,
  results,
  nowMs,
) {
  const stores = [CANDIDATES, CHECKPOINTS, ANOMALIES, MESSAGES];
  return database.write(stores, async (transaction) => {
    const candidates = transaction.objectStore(CANDIDATES);
    /** @type {CandidateRecord[]} */
    const changed = [];
    for (const result of results) {
      const key =
        result.candidateKey ??
        (await keyByMessage(transaction, channelAccountId, conversationId, result));
      const candidate = key === null ? undefined : await done(candidates.get(key));
      if (!isMeant(candidate, channelAccountId, conversationId, result)) continue;
      const after = resulting(candidate, result, nowMs);
      candidates.put(after);
      changed.push(after);
      if (result.status === "conflict" && result.ifConflict) {
        await writeAnomalies(transaction, [result.ifConflict]);
      }
    }
    const checkpoint = await confirmedIn(
      transaction,
      channelAccountId,
      conversationId,
      changed,
    );
    const pending = await stillPending(transaction, channelAccountId, conversationId);
    return { changed: changed.length, pending, checkpoint };
  });
}

/**
 * @param {CandidateRecord | undefined} candidate
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {DeliveryResult} result
 * @returns {candidate is CandidateRecord}
 */
function isMeant(candidate, channelAccountId, conversationId, result) {
  return (
    candidate !== undefined &&
    candidate.status === "pending_ack" &&
    candidate.channelAccountId === channelAccountId &&
    candidate.conversationId === conversationId &&
    candidate.messageId === result.messageId
  );
}

/**
 * @param {IDBTransaction} transaction
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {DeliveryResult} result
 * @returns {Promise<string | null>}
 */
async function keyByMessage(transaction, channelAccountId, conversationId, result) {
  const key = messageKey(channelAccountId, conversationId, result.messageId);
  /** @type {MessageRecord | undefined} */
  const message = await done(transaction.objectStore(MESSAGES).get(key));
  if (message === undefined) return null;
  const { sentAtMs, messageId } = message;
  return candidateKey(channelAccountId, conversationId, sentAtMs, messageId);
}

/**
 * @param {CandidateRecord} candidate
 * @param {DeliveryResult} result
 * @param {number} nowMs
 * @returns {CandidateRecord}
 */
function resulting(candidate, result, nowMs) {
  if (result.status === "confirmed") {
    /** @type {CandidateRecord} */
    const after = { ...candidate, status: "confirmed", confirmedAtMs: nowMs };
    if (result.sequence !== undefined) after.sequence = result.sequence;
    return after;
  }
  const code = result.code ?? result.status;
  return result.status === "conflict"
    ? { ...candidate, status: "anomaly", code }
    : { ...candidate, status: "rejected", code };
}

/**
 * @param {IDBTransaction} transaction
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {CandidateRecord[]} changed none: an ACK for nothing of ours makes no checkpoint
 * @returns {Promise<CheckpointRecord | null>}
 */
async function confirmedIn(transaction, channelAccountId, conversationId, changed) {
  if (changed.length > 0) {
    return changeCheckpoint(transaction, channelAccountId, conversationId, (before) =>
      withLatest(before, changed),
    );
  }
  const key = conversationKey(channelAccountId, conversationId);
  return (await checkpointAt(transaction, key)) ?? null;
}

/**
 * A conflict is at Bright, too, with the content that came first: it may be what another
 * device has anchored, and a claim of anything older would never match.
 *
 * @param {CandidateRecord} candidate
 */
function isAtBright({ status, code }) {
  return status === "confirmed" || (status === "anomaly" && code === "conflict");
}

/**
 * OT-18: only the present newest and the ones just confirmed are compared.
 *
 * @param {CheckpointRecord} before
 * @param {CandidateRecord[]} changed
 * @returns {CheckpointRecord}
 */
function withLatest(before, changed) {
  const after = { ...before };
  for (const candidate of changed) {
    if (!isAtBright(candidate)) continue;
    const newest = after.latestCandidateKey;
    if (newest === null || candidateOrder(newest, candidate.candidateKey) < 0) {
      after.latestCandidateKey = candidate.candidateKey;
      after.latestMessageId = candidate.messageId;
    }
  }
  return after;
}

/**
 * @param {IDBTransaction} transaction
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {Promise<number>} candidates that wait for an anchor or an ACK
 */
export async function stillPending(transaction, channelAccountId, conversationId) {
  /** @param {CandidateStatus} status */
  const count = (status) =>
    countUnder(transaction, CANDIDATES, "by_account_conversation_status", [
      channelAccountId,
      conversationId,
      status,
    ]);
  const [pending, waiting] = await Promise.all([
    count("pending_ack"),
    count("awaiting_anchor"),
  ]);
  return pending + waiting;
}

/**
 * The oldest candidate of an account that waits for its ACK, by when it was observed,
 * among the first of the upload order.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {number} among
 * @returns {Promise<number | null>} `observedAtMs`
 */
export async function oldestPendingSince(database, channelAccountId, among) {
  /** @type {CandidateRecord[]} */
  const first = await database.read([CANDIDATES], (transaction) =>
    firstUnder(
      transaction,
      CANDIDATES,
      "by_account_status",
      [channelAccountId, "pending_ack"],
      among,
    ),
  );
  const times = first.flatMap((candidate) => candidate.observedAtMs ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * Makes confirmed candidates pending again, because the server's store does not have them:
 * of one conversation, or of a whole account. Conflicts too: the content that was first is
 * gone with the store that had it. Bounded transactions; running it twice does
 * no harm, so a worker that dies on the way starts it again.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string | null} conversationId null: the account
 * @returns {Promise<number>} candidates turned
 */
export async function reoffer(database, channelAccountId, conversationId) {
  const confirmed = await reofferAll(
    database,
    channelAccountId,
    conversationId,
    "confirmed",
  );
  return (
    confirmed +
    (await reofferAll(database, channelAccountId, conversationId, "anomaly"))
  );
}

/**
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string | null} conversationId
 * @param {CandidateStatus} status
 * @returns {Promise<number>}
 */
async function reofferAll(database, channelAccountId, conversationId, status) {
  const [indexName, key] =
    conversationId === null
      ? ["by_account_status", [channelAccountId, status]]
      : ["by_account_conversation_status", [channelAccountId, conversationId, status]];
  let turned = 0;
  for (;;) {
    const step = await database.write(
      [CANDIDATES, CHECKPOINTS],
      async (transaction) => {
        /** @type {CandidateRecord[]} */
        const found = await firstUnder(
          transaction,
          CANDIDATES,
          /** @type {string} */ (indexName),
          key,
          REOFFER_STEP,
        );
        const store = transaction.objectStore(CANDIDATES);
        for (const candidate of found) {
          candidate.status = "pending_ack";
          delete candidate.code;
          store.put(candidate);
        }
        // One of another version's may name no conversation: it makes no checkpoint.
        const named = found.map((one) => one.conversationId);
        const conversations = new Set(named.filter((one) => one !== undefined));
        for (const conversation of conversations) {
          await changeCheckpoint(transaction, channelAccountId, conversation, unproven);
        }
        return found.length;
      },
    );
    turned += step;
    if (step < REOFFER_STEP) return turned;
  }
}

/**
 * @param {CheckpointRecord} before
 * @returns {CheckpointRecord} without what only the old server store had proven
 */
function unproven(before) {
  return {
    ...before,
    phase: before.historyComplete ? "uploading" : before.phase,
    completionSent: false,
    latestMessageId: null,
    latestCandidateKey: null,
  };
}
