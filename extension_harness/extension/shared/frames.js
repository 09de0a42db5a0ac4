// The frames of /v1/extension as this side uses them (docs/wire-protocol.md): making what
// is sent, reading what comes. Unknown fields are ignored; a frame that cannot be used
// reads as null and changes nothing.

import { contentOf } from "./normal-form.js";

export const SUBPROTOCOL = "bright.extension.v1";
export const PROTOCOL_VERSION = 1;

/**
 * @typedef {object} Welcome
 * @property {"welcome"} type
 * @property {string} connectionId
 * @property {string} storeId
 * @property {number} [serverTimeMs]
 * @property {number} heartbeatIntervalMs
 * @property {number} authorizationVersion
 * @property {string[]} accounts
 * @property {{maxFrameBytes: number, maxBatchMessages: number, maxInFlightBatches: number}} limits
 */

/**
 * @typedef {object} MessageResult
 * @property {string | null} candidateKey
 * @property {string} messageId
 * @property {"confirmed" | "conflict" | "rejected" | "retry"} status
 * @property {boolean} duplicate
 * @property {number} [sequence]
 * @property {string} [code]
 */

/**
 * @typedef {object} ObservationAck
 * @property {"observation.ack"} type
 * @property {string | null} requestId
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {MessageResult[]} results
 */

/**
 * An observation that Bright has, it or a later one (OT-83).
 *
 * @typedef {object} ProfileName
 * @property {string} conversationId
 * @property {string} fingerprint
 * @property {number} observedAtMs
 */

/**
 * @typedef {object} ProfileAck
 * @property {"contact.profile.ack"} type
 * @property {string | null} requestId
 * @property {string} channelAccountId
 * @property {ProfileName[]} acks
 * @property {(ProfileName & {code: string})[]} [rejected] can never be stored
 */

/**
 * @typedef {object} CardAck
 * @property {"card.rendered.ack"} type
 * @property {string | null} requestId
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {(MessageResult & {candidateKey: string, cardKind: string})[]} results
 */

/**
 * @typedef {ProfileName & {type: "buyer.facts.ack", requestId: string | null,
 *   channelAccountId: string}} FactsAck
 */

/** @typedef {ProfileAck | CardAck | FactsAck} LedgerAck */

/**
 * @typedef {object} Anchor
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {string} latestMessageId
 */

/**
 * @typedef {object} WsError
 * @property {"ws.error"} type
 * @property {string | null} requestId
 * @property {string} code
 * @property {string} message
 * @property {boolean} retryable
 * @property {string | null} channelAccountId
 * @property {string | null} conversationId
 */

/**
 * @typedef {object} ConversationKnown
 * @property {"conversation.known"} type
 * @property {string} requestId
 * @property {{conversationId: string, anchor: {latestMessageId: string} | null}[]} conversations
 */

/**
 * Its name and arguments are judged where it is carried out.
 *
 * @typedef {object} Command
 * @property {"command"} type
 * @property {string} commandId
 * @property {string} name
 * @property {Record<string, any>} arguments
 * @property {number} deadlineMs by Bright's clock
 */

/**
 * @typedef {Welcome | ObservationAck | LedgerAck | WsError
 *   | {type: "heartbeat.ack", authorizationVersion: number}
 *   | {type: "page.registered", pageId: string}
 *   | ConversationKnown
 *   | {type: "anchor.snapshot", anchors: Anchor[]}
 *   | {type: "binding.revoked", reason: string}
 *   | Command
 *   | {type: "keepalive"}} Incoming
 */

const STATUSES = new Set(["confirmed", "conflict", "rejected", "retry"]);

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === "string" && value !== "";
}

/** @type {Record<string, (frame: Record<string, any>) => unknown>} */
const READERS = {
  welcome: readWelcome,
  "observation.ack": readObservationAck,
  "contact.profile.ack": readProfileAck,
  "card.rendered.ack": readCardAck,
  "buyer.facts.ack": (frame) =>
    isText(frame.channelAccountId) && isProfileName(frame) ? frame : null,
  "ws.error": readError,
  "heartbeat.ack": (frame) =>
    Number.isInteger(frame.authorizationVersion) ? frame : null,
  "page.registered": (frame) => (isText(frame.pageId) ? frame : null),
  "conversation.known": (frame) =>
    isText(frame.requestId) && Array.isArray(frame.conversations)
      ? { ...frame, conversations: frame.conversations.filter(isKnown) }
      : null,
  "anchor.snapshot": (frame) =>
    Array.isArray(frame.anchors)
      ? { ...frame, anchors: frame.anchors.filter(isAnchor) }
      : null,
  "binding.revoked": (frame) => ({ ...frame, reason: String(frame.reason) }),
  command: (frame) => (isText(frame.commandId) ? frame : null),
  keepalive: (frame) => frame,
};

/**
 * @param {unknown} data a WebSocket message's data
 * @returns {Incoming | null}
 */
export function readFrame(data) {
  if (typeof data !== "string") return null;
  /** @type {unknown} */
  let frame;
  try {
    frame = JSON.parse(data);
  } catch {
    return null;
  }
  if (!isObject(frame) || typeof frame.type !== "string") return null;
  const read = Object.hasOwn(READERS, frame.type) ? READERS[frame.type] : null;
  return /** @type {Incoming | null} */ (read?.(frame) ?? null);
}

/** @param {Record<string, any>} frame */
function readWelcome(frame) {
  const limits = frame.limits;
  const numbers = [
    frame.heartbeatIntervalMs,
    limits?.maxFrameBytes,
    limits?.maxBatchMessages,
    limits?.maxInFlightBatches,
  ];
  const isGood =
    isText(frame.storeId) &&
    numbers.every((each) => Number.isInteger(each) && each > 0) &&
    Number.isInteger(frame.authorizationVersion) &&
    Array.isArray(frame.accounts) &&
    frame.accounts.every(isText);
  return isGood ? frame : null;
}

/** @param {Record<string, any>} frame */
function readObservationAck(frame) {
  if (!isText(frame.channelAccountId) || !isText(frame.conversationId)) return null;
  if (!Array.isArray(frame.results)) return null;
  const results = frame.results.filter(isResult).map((result) => ({
    ...result,
    candidateKey: isText(result.candidateKey) ? result.candidateKey : null,
  }));
  return { ...frame, requestId: frame.requestId ?? null, results };
}

/** @param {Record<string, any>} frame */
function readProfileAck(frame) {
  if (!isText(frame.channelAccountId) || !Array.isArray(frame.acks)) return null;
  const rejected = Array.isArray(frame.rejected) ? frame.rejected : [];
  return {
    ...frame,
    acks: frame.acks.filter(isProfileName),
    rejected: rejected.filter(isProfileName),
  };
}

/** @param {unknown} named */
function isProfileName(named) {
  return (
    isObject(named) &&
    isText(named.conversationId) &&
    isText(named.fingerprint) &&
    Number.isInteger(named.observedAtMs)
  );
}

/** @param {Record<string, any>} frame */
function readCardAck(frame) {
  if (!isText(frame.channelAccountId) || !isText(frame.conversationId)) return null;
  if (!Array.isArray(frame.results)) return null;
  const results = frame.results.filter(
    (each) => isResult(each) && isText(each.candidateKey) && isText(each.cardKind),
  );
  return { ...frame, results };
}

/** @param {unknown} result */
function isResult(result) {
  return isObject(result) && isText(result.messageId) && STATUSES.has(result.status);
}

/** @param {Record<string, any>} frame */
function readError(frame) {
  if (!isText(frame.code)) return null;
  return {
    ...frame,
    requestId: frame.requestId ?? null,
    message: String(frame.message ?? ""),
    retryable: frame.retryable === true,
    channelAccountId: frame.channelAccountId ?? null,
    conversationId: frame.conversationId ?? null,
  };
}

/** @param {unknown} known */
function isKnown(known) {
  if (!isObject(known) || !isText(known.conversationId)) return false;
  return known.anchor === null || isText(known.anchor?.latestMessageId);
}

/** @param {unknown} anchor */
function isAnchor(anchor) {
  return (
    isObject(anchor) &&
    isText(anchor.channelAccountId) &&
    isText(anchor.conversationId) &&
    isText(anchor.latestMessageId)
  );
}

/**
 * The wire form of a stored message.
 *
 * @param {import("./records.js").CandidateRecord} candidate
 * @param {import("./records.js").MessageRecord} message
 */
export function wireMessage(candidate, message) {
  const wire = { candidateKey: candidate.candidateKey, ...contentOf(message) };
  return message.raw === undefined ? wire : { ...wire, raw: message.raw };
}

/**
 * Takes entries, in order, as long as they fit into one frame.
 *
 * @template T
 * @param {{part: T, wire: object}[]} entries
 * @param {object} envelope the frame without its entries
 * @param {number} maxFrameBytes
 * @param {string} [list] the field that they go into
 * @returns {{frame: string, parts: T[], tooLarge: T | null}} `tooLarge`: the first entry,
 *     when it alone does not fit
 */
export function packBatch(entries, envelope, maxFrameBytes, list = "messages") {
  const encoder = new TextEncoder();
  const head = JSON.stringify({ ...envelope, [list]: [] }).slice(0, -2);
  let bytes = encoder.encode(head).length + 2;
  /** @type {T[]} */
  const parts = [];
  /** @type {string[]} */
  const texts = [];
  for (const { part, wire } of entries) {
    const text = JSON.stringify(wire);
    const size = encoder.encode(text).length + 1;
    if (bytes + size > maxFrameBytes) {
      if (parts.length === 0) return { frame: "", parts: [], tooLarge: part };
      break;
    }
    bytes += size;
    parts.push(part);
    texts.push(text);
  }
  return { frame: `${head}${texts.join(",")}]}`, parts, tooLarge: null };
}
