// Cards as a page rendered them, into their ledger (OT-90): in a transaction of their own,
// so that they can hold up no message.

import { anomalyRecord } from "../shared/anomalies.js";
import { MAX_CANDIDATE_KEY, candidateKey } from "../shared/keys.js";
import { digestOf } from "../shared/normal-form.js";
import { redact } from "../shared/redaction.js";
import { recordCards } from "../store/cards.js";
import { writtenApart } from "./ledger-writes.js";

/** @typedef {import("../store/cards.js").PreparedCard} PreparedCard */

/** Cards that show what was agreed on; of people's own cards nothing is read (OT-86). */
const KINDS = ["inquiry", "product_card", "order_card", "quote_card", "address_card"];
const MAX_CARDS = 200;
const MAX_ID = 256;
const MAX_TEXT = 500;
const MAX_LINES = 20;

/**
 * Records cards; when this returns, they are on disk. The first content of each stays.
 *
 * @param {import("../store/database.js").Database} database
 * @param {string} channelAccountId
 * @param {unknown} entries the page's word: `{conversationId, messageId, sentAtMs,
 *     cardKind, content}` each; what is none is passed over
 * @param {number} observedAtMs
 * @returns {Promise<number>} cards that are new
 * @throws {import("../shared/errors.js").StoreError} `cards_not_recorded`, or what the
 *     whole store suffers from
 */
export function recordRenderedCards(database, channelAccountId, entries, observedAtMs) {
  const cards = Array.isArray(entries) ? entries.slice(0, MAX_CARDS) : [];
  return writtenApart("cards_not_recorded", `${cards.length} cards`, async () => {
    /** @type {Map<string, PreparedCard[]>} */
    const byConversation = new Map();
    for (const entry of cards.filter(isCard)) {
      const card = await prepared(channelAccountId, entry, observedAtMs);
      if (card.candidateKey.length > MAX_CANDIDATE_KEY) continue;
      const before = byConversation.get(entry.conversationId) ?? [];
      byConversation.set(entry.conversationId, [...before, card]);
    }
    let added = 0;
    for (const [conversationId, cards] of byConversation) {
      const batch = { channelAccountId, conversationId, observedAtMs, cards };
      added += (await recordCards(database, batch)).added;
    }
    return added;
  });
}

/**
 * @param {string} channelAccountId
 * @param {any} entry
 * @param {number} nowMs
 * @returns {Promise<PreparedCard>}
 */
async function prepared(channelAccountId, entry, nowMs) {
  const { cardKind, conversationId, messageId, sentAtMs } = entry;
  const content = contentOf(entry.content);
  const conflict = {
    code: "card_conflict",
    messageId,
    observed: { cardKind, ...content },
  };
  const scope = { channelAccountId, conversationId, surface: "card", nowMs };
  return {
    messageId,
    candidateKey: candidateKey(channelAccountId, conversationId, sentAtMs, messageId),
    cardKind,
    content,
    digest: await digestOf(content),
    ifConflict: await anomalyRecord(conflict, scope),
  };
}

/** @param {any} entry */
function isCard(entry) {
  return (
    [entry?.conversationId, entry?.messageId].every(isId) &&
    Number.isSafeInteger(entry.sentAtMs) &&
    entry.sentAtMs > 0 &&
    KINDS.includes(entry.cardKind) &&
    isText(entry.content?.title)
  );
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === "string" && value !== "";
}

/** @param {unknown} value */
function isId(value) {
  return isText(value) && /** @type {string} */ (value).length <= MAX_ID;
}

/**
 * @param {{title: string, lines?: unknown}} said
 * @returns {{title: string, lines: string[]}} bounded, without what looks like a secret
 */
function contentOf({ title, lines }) {
  const texts = Array.isArray(lines) ? lines.filter(isText) : [];
  return redact({
    title: bounded(title),
    lines: texts.slice(0, MAX_LINES).map(bounded),
  });
}

/** @param {string} text */
function bounded(text) {
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll("\0", "\ufffd");
}
