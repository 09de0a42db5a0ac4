// The ledger of rendered cards (OT-90, OT-91): durable first, the first content wins, and a
// card is confirmed by an ACK for exactly it.

import { cardKey } from "../shared/keys.js";
import { done } from "./database.js";
import { writeAnomalies } from "./observations.js";
import { firstUnder } from "./reads.js";
import { ANOMALIES, CARDS } from "./steps.js";

/** @typedef {import("../shared/records.js").AnomalyRecord} AnomalyRecord */
/** @typedef {import("../shared/records.js").CardRecord} CardRecord */
/** @typedef {import("./database.js").Database} Database */

/**
 * @typedef {object} PreparedCard
 * @property {string} messageId
 * @property {string} candidateKey
 * @property {string} cardKind
 * @property {unknown} content
 * @property {string} digest of the content
 * @property {AnomalyRecord | null} [ifConflict] kept when the ledger has other content
 */

/**
 * @typedef {object} CardBatch
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {number} observedAtMs
 * @property {PreparedCard[]} cards
 */

/**
 * Writes the cards of one conversation; when it returns, all of them are on disk.
 *
 * @param {Database} database
 * @param {CardBatch} batch
 * @returns {Promise<{added: number, known: number, conflicts: number}>}
 */
export function recordCards(database, batch) {
  const { channelAccountId, conversationId, observedAtMs, cards } = batch;
  return database.write([CARDS, ANOMALIES], async (transaction) => {
    const store = transaction.objectStore(CARDS);
    const counts = { added: 0, known: 0, conflicts: 0 };
    for (const card of cards) {
      const { messageId, candidateKey, cardKind, content, digest } = card;
      const key = cardKey(channelAccountId, conversationId, messageId, cardKind);
      /** @type {CardRecord | undefined} */
      const first = await done(store.get(key));
      if (first === undefined) {
        /** @type {CardRecord} */
        const record = {
          key,
          channelAccountId,
          conversationId,
          messageId,
          candidateKey,
          cardKind,
          content,
          contentDigest: digest,
          status: "pending_ack",
          observedAtMs,
        };
        store.put(record);
        counts.added += 1;
      } else if ((first.contentDigest ?? digest) === digest) {
        counts.known += 1;
      } else {
        counts.conflicts += 1;
        if (card.ifConflict) await writeAnomalies(transaction, [card.ifConflict]);
      }
    }
    return counts;
  });
}

/**
 * The cards of an account that wait for their ACK, and nothing else, in key order (OT-91).
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {{limit: number}} page
 * @returns {Promise<CardRecord[]>}
 * @throws {import("../shared/errors.js").StoreError} `scope_missing`
 */
export function listPendingCards(database, channelAccountId, { limit }) {
  const key = [channelAccountId, "pending_ack"];
  return database.read([CARDS], (transaction) =>
    firstUnder(transaction, CARDS, "by_account_status", key, limit),
  );
}

/**
 * One usable result of an ACK of cards.
 *
 * @typedef {object} CardResult
 * @property {string} candidateKey
 * @property {string} messageId
 * @property {string} cardKind
 * @property {"confirmed" | "conflict" | "rejected"} status
 * @property {string} [code]
 * @property {AnomalyRecord | null} [ifConflict]
 */

/**
 * Takes an ACK's results over. Each is one primary-key read and counts only while that
 * very card is `pending_ack`: unknown, doubled and late results change nothing.
 *
 * @param {Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {CardResult[]} results
 * @param {number} nowMs
 * @returns {Promise<number>} cards that this changed
 */
export function applyCardResults(
  database,
  channelAccountId,
  conversationId,
  results,
  nowMs,
) {
  return database.write([CARDS, ANOMALIES], async (transaction) => {
    const store = transaction.objectStore(CARDS);
    let changed = 0;
    for (const result of results) {
      const { messageId, cardKind } = result;
      const key = cardKey(channelAccountId, conversationId, messageId, cardKind);
      /** @type {CardRecord | undefined} */
      const card = await done(store.get(key));
      if (card?.status !== "pending_ack") continue;
      if (card.candidateKey !== result.candidateKey) continue;
      store.put(resulting(card, result, nowMs));
      changed += 1;
      if (result.status === "conflict" && result.ifConflict) {
        await writeAnomalies(transaction, [result.ifConflict]);
      }
    }
    return changed;
  });
}

/**
 * @param {CardRecord} card
 * @param {CardResult} result
 * @param {number} nowMs
 * @returns {CardRecord}
 */
function resulting(card, { status, code }, nowMs) {
  if (status === "confirmed") {
    return { ...card, status: "confirmed", confirmedAtMs: nowMs };
  }
  if (status === "conflict") {
    return { ...card, status: "anomaly", code: code ?? "conflict" };
  }
  return code === undefined
    ? { ...card, status: "rejected" }
    : { ...card, status: "rejected", code };
}
