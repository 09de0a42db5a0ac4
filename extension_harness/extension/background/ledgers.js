// The ledgers beside the messages, as their uplink sees them: which verbs of the store and
// which frames belong together. No ACK of one settles anything of another (OT-87).

import { anomalyRecord } from "../shared/anomalies.js";
import { packBatch } from "../shared/frames.js";
import { confirmBuyerFacts, dropBuyerFacts } from "../store/buyer-facts.js";
import { applyCardResults, listPendingCards } from "../store/cards.js";
import { listPendingProfiles, settleProfiles } from "../store/profiles.js";
import { PendingFacts } from "./pending-facts.js";

/** @typedef {import("./ledger-uplink.js").Ledger} Ledger */
/** @typedef {import("../shared/records.js").PendingProfile} PendingProfile */
/** @typedef {import("../store/database.js").Database} Database */
/** @typedef {import("../shared/frames.js").CardAck} CardAck */
/** @typedef {import("../store/cards.js").CardResult} CardResult */
/** @typedef {import("../store/profiles.js").ProfileName} ProfileName */

/**
 * @param {Database} database
 * @param {() => number} now
 * @returns {Ledger[]}
 */
export function everyLedger(database, now) {
  return [profileLedger, cardLedger, factsLedger].map((made) => made(database, now));
}

/**
 * @param {Database} database
 * @param {() => number} now
 * @returns {Ledger}
 */
export function profileLedger(database, now) {
  return {
    name: "profiles",
    ack: "contact.profile.ack",
    async next(channelAccountId, { requestId, most, maxFrameBytes }) {
      const bound = { limit: most };
      const records = await listPendingProfiles(database, channelAccountId, bound);
      if (records.length === 0) return null;
      const entries = records.map(({ conversationId, pending }) => {
        const { aliId, fingerprint, observedAtMs, profile } =
          /** @type {PendingProfile} */ (pending);
        const part = { conversationId, fingerprint, observedAtMs };
        return { part, wire: { ...part, aliId, profile } };
      });
      const type = "contact.profile.observed";
      const envelope = { type, requestId, channelAccountId };
      return packBatch(entries, envelope, maxFrameBytes, "profiles");
    },
    acknowledge({ channelAccountId, acks, rejected }) {
      const answer = { confirmed: acks, refused: rejected };
      return settleProfiles(database, channelAccountId, answer, now());
    },
    refuse: (channelAccountId, parts) => {
      const answer = { confirmed: [], refused: parts };
      return settleProfiles(database, channelAccountId, answer, now());
    },
    async isAnyPending(channelAccountId) {
      const bound = { limit: 1 };
      return (await listPendingProfiles(database, channelAccountId, bound)).length > 0;
    },
  };
}

/**
 * One frame is of one conversation: the first that has any, in key order.
 *
 * @param {Database} database
 * @param {() => number} now
 * @returns {Ledger}
 */
export function cardLedger(database, now) {
  return {
    name: "cards",
    ack: "card.rendered.ack",
    async next(channelAccountId, { requestId, most, maxFrameBytes }) {
      const bound = { limit: most };
      const cards = await listPendingCards(database, channelAccountId, bound);
      if (cards.length === 0) return null;
      const { conversationId } = cards[0];
      const entries = cards
        .filter((each) => each.conversationId === conversationId)
        .map(({ candidateKey, messageId, cardKind, content }) => {
          const named = { candidateKey, messageId, cardKind };
          return { part: { conversationId, ...named }, wire: { ...named, content } };
        });
      const type = "card.rendered.observed";
      const envelope = { type, requestId, channelAccountId, conversationId };
      return packBatch(entries, envelope, maxFrameBytes, "cards");
    },
    async acknowledge({ channelAccountId, conversationId, results }) {
      const scope = { channelAccountId, conversationId };
      const settled = await settledCards(scope, results, now());
      return applyCardResults(
        database,
        channelAccountId,
        conversationId,
        settled,
        now(),
      );
    },
    refuse: (channelAccountId, parts, code) => {
      const results = parts.map((part) => ({ ...part, status: "rejected", code }));
      const { conversationId } = parts[0];
      return applyCardResults(
        database,
        channelAccountId,
        conversationId,
        results,
        now(),
      );
    },
    async isAnyPending(channelAccountId) {
      const bound = { limit: 1 };
      return (await listPendingCards(database, channelAccountId, bound)).length > 0;
    },
  };
}

/**
 * @param {{channelAccountId: string, conversationId: string}} scope
 * @param {CardAck["results"]} results
 * @param {number} nowMs
 * @returns {Promise<CardResult[]>} those that settle a card
 */
async function settledCards(scope, results, nowMs) {
  /** @type {CardResult[]} */
  const settled = [];
  for (const { candidateKey, cardKind, code, messageId, status } of results) {
    if (status === "retry") continue;
    const observed = { messageId, cardKind, at: "bright" };
    const ifConflict =
      status === "conflict"
        ? await anomalyRecord(
            { code: "card_conflict", messageId, observed },
            { ...scope, surface: "bright", nowMs },
          )
        : null;
    settled.push({ candidateKey, messageId, cardKind, status, code, ifConflict });
  }
  return settled;
}

/**
 * One frame is of one conversation, and its facts are one entry.
 *
 * @param {Database} database
 * @returns {Ledger}
 */
export function factsLedger(database) {
  const pending = new PendingFacts(database);
  return {
    name: "facts",
    ack: "buyer.facts.ack",
    async next(channelAccountId, { requestId, maxFrameBytes }) {
      const record = await pending.first(channelAccountId);
      if (record === null) return null;
      const { conversationId, facts, fingerprint, observedAtMs } = record;
      const part = { conversationId, fingerprint, observedAtMs };
      const type = "buyer.facts.observed";
      const frame = JSON.stringify({
        type,
        requestId,
        channelAccountId,
        ...part,
        facts,
      });
      const isFitting = new TextEncoder().encode(frame).length <= maxFrameBytes;
      return { frame, parts: [part], tooLarge: isFitting ? null : part };
    },
    async acknowledge({ channelAccountId, ...named }) {
      return Number(await confirmBuyerFacts(database, channelAccountId, named));
    },
    refuse: (channelAccountId, [part]) =>
      dropBuyerFacts(database, channelAccountId, part),
    isAnyPending: async (channelAccountId) =>
      (await pending.first(channelAccountId)) !== null,
    observed: (channelAccountId, conversationId) =>
      pending.observed(channelAccountId, conversationId),
    met: (channelAccountId, conversationIds) =>
      pending.met(channelAccountId, conversationIds),
    reset: () => pending.reset(),
  };
}
