// What makes an observation a fact: the required fields and their form. Pure.

import { MAX_CANDIDATE_KEY, candidateKey } from "./keys.js";
import { redact } from "./redaction.js";

const MAX_ID = 256;
/** An anomaly keeps what was seen, up to this many characters of JSON. */
const MAX_ANOMALY_JSON = 4_096;
const LATEST_TIME_MS = 999_999_999_999_999;
/** Deeper than any card is; what is much deeper, a server's JSON reader does not read. */
const MAX_DEPTH = 200;

/** @typedef {import("./records.js").Observation} Observation */
/** @typedef {import("./records.js").MessageContent} MessageContent */

/**
 * @typedef {{fact: MessageContent, raw?: Record<string, unknown>}} ReadFact
 * @typedef {{code: string, messageId: string | null, observed: unknown}} ReadAnomaly
 */

/**
 * Reads one observation of a conversation, redacted (OT-30, OT-32).
 *
 * @param {Observation} observation
 * @param {{channelAccountId: string, conversationId: string | null}} asked the account,
 *     and the conversation whose rows these should be (null: whatever the row says)
 * @returns {ReadFact | ReadAnomaly}
 */
export function readObservation(observation, asked) {
  if (isDeep(observation)) return readDeep(observation, asked);
  const clean = redact(observation);
  const code = faultOf(clean, asked);
  if (code !== null) {
    const id = clean?.messageId;
    return {
      code,
      messageId: typeof id === "string" && id.length <= MAX_ID ? id : null,
      observed: bounded(clean),
    };
  }
  const raw = clean.raw;
  const read = { fact: contentOf(/** @type {MessageContent} */ (clean)) };
  return isObject(raw) ? { ...read, raw } : read;
}

/**
 * What is too deep can neither be compared nor sent: without `raw`, which is no part of
 * the message, it may be a good one; else it is an anomaly and blocks nothing.
 *
 * @param {Observation} observation
 * @param {{channelAccountId: string, conversationId: string | null}} asked
 * @returns {ReadFact | ReadAnomaly}
 */
function readDeep(observation, asked) {
  if (observation.raw !== undefined) {
    return readObservation({ ...observation, raw: undefined }, asked);
  }
  const id = observation.messageId;
  const messageId = typeof id === "string" && id.length <= MAX_ID ? id : null;
  return { code: "too_deep", messageId, observed: { messageId } };
}

/**
 * @param {unknown} root a JSON value
 * @returns {boolean} it is nested deeper than `MAX_DEPTH`
 */
function isDeep(root) {
  let level = [root];
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    level = level.flatMap((value) =>
      value !== null && typeof value === "object" ? Object.values(value) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}

/**
 * @param {Observation} seen
 * @param {{channelAccountId: string, conversationId: string | null}} asked
 * @returns {string | null} the anomaly's code, the first fault in the written order; null
 *     for a good message
 */
function faultOf(seen, asked) {
  if (!isObject(seen) || "notAnObject" in seen) return "not_an_object";
  if (isMissing(seen.messageId)) return "missing_message_id";
  if (!isId(seen.messageId)) return "invalid_id";
  if (isMissing(seen.conversationId)) return "missing_conversation_id";
  if (!isId(seen.conversationId)) return "invalid_id";
  if (asked.conversationId !== null && seen.conversationId !== asked.conversationId) {
    return "foreign_conversation";
  }
  if (isMissing(seen.senderId)) return "missing_sender_id";
  if (!isId(seen.senderId)) return "invalid_id";
  if (!isTime(seen.sentAtMs)) return "invalid_sent_at";
  const named = /** @type {MessageContent} */ (seen);
  const key = candidateKey(
    asked.channelAccountId,
    named.conversationId,
    named.sentAtMs,
    named.messageId,
  );
  return key.length > MAX_CANDIDATE_KEY ? "invalid_id" : null;
}

/** @param {unknown} value */
function isMissing(value) {
  return value === undefined || value === null || value === "";
}

/** @param {unknown} value */
function isId(value) {
  if (typeof value !== "string" || value.length > MAX_ID) return false;
  return value.isWellFormed() && !value.includes("\0");
}

/** @param {unknown} value */
function isTime(value) {
  return (
    typeof value === "number" &&
    Number.isSafeInteger(value) &&
    value > 0 &&
    value <= LATEST_TIME_MS
  );
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/**
 * Only the fields that are the message; the order is fixed, so the text of two equal ones
 * is equal.
 *
 * @param {MessageContent} seen
 * @returns {MessageContent}
 */
export function contentOf(seen) {
  /** @type {MessageContent} */
  const content = {
    messageId: seen.messageId,
    conversationId: seen.conversationId,
    senderId: seen.senderId,
    direction: seen.direction === "outbound" ? "outbound" : "inbound",
    sentAtMs: seen.sentAtMs,
    kind: typeof seen.kind === "string" ? seen.kind : "unknown",
  };
  if (typeof seen.text === "string") content.text = seen.text;
  if (isObject(seen.content)) content.content = seen.content;
  if (isObject(seen.quote)) content.quote = seen.quote;
  if (isObject(seen.recall)) content.recall = seen.recall;
  return content;
}

/**
 * JSON with sorted keys: equal values give equal text.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function canonicalJson(value) {
  if (value === null || typeof value !== "object")
    return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`);
  return `{${fields.join(",")}}`;
}

/**
 * SHA-256 of a value's canonical JSON, in hexadecimal. Await it before a transaction is
 * opened, never inside.
 *
 * @param {unknown} value
 * @returns {Promise<string>}
 */
export async function digestOf(value) {
  const bytes = new TextEncoder().encode(canonicalJson(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {unknown} observed
 * @returns {unknown} itself, or its beginning as text when it is too large to keep
 */
function bounded(observed) {
  const json = JSON.stringify(observed) ?? "null";
  if (json.length <= MAX_ANOMALY_JSON) return JSON.parse(json);
  return { cut: json.slice(0, MAX_ANOMALY_JSON).toWellFormed() };
}
