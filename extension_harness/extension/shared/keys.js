// Primary keys of the durable store: a scope is a JSON array written as text, so that no
// id can run into its neighbour, whatever characters it has.

/** Widest `sentAtMs` that a key can hold in order: 15 digits. */
const TIME_DIGITS = 15;

/** Upper bound of the wire contract for a candidate key, in characters. */
export const MAX_CANDIDATE_KEY = 1024;

/**
 * Scope of one message fact (OT-01).
 *
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {string} messageId
 */
export function messageKey(channelAccountId, conversationId, messageId) {
  return JSON.stringify([channelAccountId, conversationId, messageId]);
}

/**
 * Scope of a checkpoint, a bootstrap, a profile, buyer facts (OT-02).
 *
 * @param {string} channelAccountId
 * @param {string} conversationId
 */
export function conversationKey(channelAccountId, conversationId) {
  return JSON.stringify([channelAccountId, conversationId]);
}

/**
 * Scope of one rendered card: a message may render as several kinds (OT-90).
 *
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {string} messageId
 * @param {string} cardKind
 */
export function cardKey(channelAccountId, conversationId, messageId, cardKind) {
  return JSON.stringify([channelAccountId, conversationId, messageId, cardKind]);
}

/**
 * Key of a candidate; within one conversation its text order is the upload order, oldest
 * first, and so is the order in which an index of its conversation yields it.
 *
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @param {number} sentAtMs
 * @param {string} messageId
 */
export function candidateKey(channelAccountId, conversationId, sentAtMs, messageId) {
  const time = String(sentAtMs).padStart(TIME_DIGITS, "0");
  return JSON.stringify([channelAccountId, conversationId, time, messageId]);
}

/**
 * @typedef {object} CandidateName
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {number} sentAtMs
 * @property {string} messageId
 */

/**
 * The parts of a candidate key; null when the text is no such key.
 *
 * @param {unknown} key
 * @returns {CandidateName | null}
 */
export function readCandidateKey(key) {
  if (typeof key !== "string") return null;
  /** @type {unknown} */
  let parts;
  try {
    parts = JSON.parse(key);
  } catch {
    return null;
  }
  if (!Array.isArray(parts) || parts.length !== 4) return null;
  if (!parts.every((part) => typeof part === "string")) return null;
  const [channelAccountId, conversationId, time, messageId] = parts;
  return { channelAccountId, conversationId, sentAtMs: Number(time), messageId };
}

/**
 * The two ends between which every candidate key of a conversation lies.
 *
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {{first: string, last: string}}
 */
export function candidateKeySpan(channelAccountId, conversationId) {
  const scope = JSON.stringify([channelAccountId, conversationId]).slice(0, -1);
  return { first: `${scope},`, last: `${scope},\uffff` };
}

/**
 * Candidate order: negative when `left` is to go up before `right`.
 *
 * @param {string} left
 * @param {string} right
 */
export function candidateOrder(left, right) {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
