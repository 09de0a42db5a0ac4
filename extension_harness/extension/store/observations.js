// The write boundary of observations (OT-04): one batch of one conversation, its facts,
// candidates, anomalies and the paging position that they stand for, in one strict
// transaction. First content wins; a batch may hold what is already known (OT-01).

import { candidateKey, messageKey, readCandidateKey } from "../shared/keys.js";
import { done } from "./database.js";
import { changeCheckpoint } from "./checkpoints.js";
import { firstUnder } from "./reads.js";
import { ANOMALIES, CANDIDATES, CHECKPOINTS, MESSAGES } from "./steps.js";

/** Candidates released from waiting in one step of the release. */
const RELEASE_STEP = 500;

/** @typedef {import("../shared/records.js").MessageContent} MessageContent */
/** @typedef {import("../shared/records.js").MessageRecord} MessageRecord */
/** @typedef {import("../shared/records.js").CandidateRecord} CandidateRecord */
/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../shared/records.js").AnomalyRecord} AnomalyRecord */

/**
 * A fact ready to be written, with the anomaly it becomes if its scope has other content.
 *
 * @typedef {object} PreparedFact
 * @property {MessageContent} content
 * @property {string} digest of the content
 * @property {Record<string, unknown>} [raw]
 * @property {AnomalyRecord} ifConflict
 */

/**
 * What a page of history says about the way back, stored with its rows (OT-44).
 *
 * @typedef {object} PagePosition
 * @property {number | null} askedWith the cursor that the page was asked with
 * @property {number | null} nextTimeStamp
 * @property {boolean} historyComplete
 */

/**
 * @typedef {object} PreparedBatch
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {PreparedFact[]} facts
 * @property {AnomalyRecord[]} anomalies
 * @property {number} observedAtMs
 * @property {PagePosition | null} page null: live, or seen in passing
 * @property {boolean} [isPartOfPage] a page's rows, the position of which comes with the
 *     last of them
 * @property {AnomalyRecord | null} ifNoAnchor recorded when an incremental scan ends
 *     without its anchor (OT-41)
 */

/**
 * @typedef {object} Recorded
 * @property {number} added facts that were new
 * @property {number} known
 * @property {number} conflicts
 * @property {number} anomalies
 * @property {boolean} isFirst nothing of the conversation had been observed before
 * @property {CheckpointRecord} checkpoint
 */

/**
 * Writes one prepared batch; when it returns, all of it is on disk.
 *
 * @param {import("./database.js").Database} database
 * @param {PreparedBatch} batch
 * @returns {Promise<Recorded>}
 */
export function recordBatch(database, batch) {
  const stores = [MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES];
  return database.write(stores, async (transaction) => {
    const fresh = await newFacts(transaction, batch);
    let isFirst = false;
    const checkpoint = await changeCheckpoint(
      transaction,
      batch.channelAccountId,
      batch.conversationId,
      (before) => {
        isFirst = before.lastObservedAtMs === 0;
        return moved(before, batch, fresh.facts.length > 0);
      },
    );
    const waiting =
      checkpoint.syncMode === "incremental" &&
      (checkpoint.anchorState === "awaiting" || checkpoint.anchorState === "not_found");
    writeFacts(transaction, batch, fresh.facts, waiting);
    if (checkpoint.anchorState === "met") await release(transaction, checkpoint);
    const anomalies = [...batch.anomalies, ...fresh.conflicts];
    if (batch.page && checkpoint.anchorState === "not_found" && batch.ifNoAnchor) {
      anomalies.push(batch.ifNoAnchor);
    }
    await writeAnomalies(transaction, anomalies);
    return {
      added: fresh.facts.length,
      known: batch.facts.length - fresh.facts.length - fresh.conflicts.length,
      conflicts: fresh.conflicts.length,
      anomalies: batch.anomalies.length,
      isFirst,
      checkpoint,
    };
  });
}

/**
 * @param {IDBTransaction} transaction
 * @param {PreparedBatch} batch
 */
async function newFacts(transaction, batch) {
  const messages = transaction.objectStore(MESSAGES);
  /** @type {Map<string, string | null>} null: kept by a version that noted no digest */
  const digests = new Map();
  const keys = [...new Set(batch.facts.map((fact) => keyOf(batch, fact)))].sort();
  if (await isAnyBetween(messages, keys[0], keys[keys.length - 1])) {
    await Promise.all(
      keys.map(async (key) => {
        const known = await done(messages.get(key));
        if (known) digests.set(key, known.contentDigest ?? null);
      }),
    );
  }
  /** @type {PreparedFact[]} */
  const facts = [];
  /** @type {AnomalyRecord[]} */
  const conflicts = [];
  for (const fact of batch.facts) {
    const key = keyOf(batch, fact);
    const first = digests.get(key);
    if (first === undefined) facts.push(fact);
    else if (first !== null && first !== fact.digest) conflicts.push(fact.ifConflict);
    digests.set(key, first === undefined ? fact.digest : first);
  }
  return { facts, conflicts };
}

/**
 * A page of history is new as a whole or not at all, most often: one look at its keys'
 * span spares a read for each.
 *
 * @param {IDBObjectStore} store
 * @param {string | undefined} first undefined: there are no keys
 * @param {string | undefined} last
 * @returns {Promise<boolean>}
 */
async function isAnyBetween(store, first, last) {
  if (first === undefined || last === undefined) return false;
  return (await done(store.getKey(IDBKeyRange.bound(first, last)))) !== undefined;
}

/**
 * @param {PreparedBatch} batch
 * @param {PreparedFact} fact
 */
function keyOf(batch, fact) {
  return messageKey(
    batch.channelAccountId,
    batch.conversationId,
    fact.content.messageId,
  );
}

/**
 * The checkpoint after this batch.
 *
 * @param {CheckpointRecord} before
 * @param {PreparedBatch} batch
 * @param {boolean} somethingNew
 * @returns {CheckpointRecord}
 */
function moved(before, batch, somethingNew) {
  const after = { ...before, lastObservedAtMs: batch.observedAtMs };
  if (batch.page) {
    after.pages += 1;
    after.pageTimeStamp = batch.page.askedWith;
    after.nextTimeStamp = batch.page.nextTimeStamp;
    after.historyComplete = batch.page.historyComplete;
    after.result = null;
  }
  if (batch.page || batch.isPartOfPage) meetAnchor(after, batch);
  if (batch.page && after.historyComplete) after.phase = "uploading";
  if (somethingNew) {
    // What was claimed or completed does not cover the new fact (OT-43, OT-46).
    if (after.phase === "completed") after.phase = "uploading";
    after.completionSent = false;
    if (after.result === "no_valid_messages") after.result = null;
  }
  return after;
}

/**
 * The scan ends at its anchor, or at the end without it. Beside the anchor there may be
 * others of its millisecond: it is not met until a page reaches beyond that, be it the one
 * that showed the anchor or a later one. Where it was recalled, its recall stands there.
 *
 * @param {CheckpointRecord} after
 * @param {PreparedBatch} batch
 */
function meetAnchor(after, batch) {
  if (after.syncMode !== "incremental" || after.anchorState === "met") return;
  const name = after.anchorMessageId;
  const anchor = batch.facts.find(
    ({ content }) => content.messageId === name || content.recall?.messageId === name,
  );
  if (anchor) after.anchorSeenAtMs = edgeOf(after, anchor.content.sentAtMs);
  if (!batch.page) return;
  const { anchorSeenAtMs, historyComplete, nextTimeStamp } = after;
  const isSeen = typeof anchorSeenAtMs === "number";
  const isEnd = historyComplete || nextTimeStamp === null;
  if (isSeen && (isEnd || nextTimeStamp < anchorSeenAtMs)) {
    after.anchorState = "met";
    after.nextTimeStamp = null;
    after.historyComplete = true;
  } else if (after.historyComplete) {
    after.anchorState = "not_found";
    after.result = "incremental_anchor_not_found";
  }
}

/**
 * How far a scan has to reach: a recall may say a later time than what it took back.
 *
 * @param {CheckpointRecord} checkpoint
 * @param {number} shownAtMs
 */
function edgeOf(checkpoint, shownAtMs) {
  return Math.min(shownAtMs, newestConfirmedAtMs(checkpoint) || shownAtMs);
}

/**
 * @param {IDBTransaction} transaction
 * @param {PreparedBatch} batch
 * @param {PreparedFact[]} facts
 * @param {boolean} waiting
 */
function writeFacts(transaction, batch, facts, waiting) {
  const messages = transaction.objectStore(MESSAGES);
  const candidates = transaction.objectStore(CANDIDATES);
  const { channelAccountId, conversationId, observedAtMs } = batch;
  for (const { content, digest, raw } of facts) {
    /** @type {MessageRecord} */
    const message = {
      ...content,
      key: messageKey(channelAccountId, conversationId, content.messageId),
      channelAccountId,
      contentDigest: digest,
      observedAtMs,
    };
    if (raw) message.raw = raw;
    messages.put(message);
    /** @type {CandidateRecord} */
    const candidate = {
      candidateKey: candidateKey(
        channelAccountId,
        conversationId,
        content.sentAtMs,
        content.messageId,
      ),
      channelAccountId,
      conversationId,
      messageId: content.messageId,
      sentAtMs: content.sentAtMs,
      status: waiting ? "awaiting_anchor" : "pending_ack",
      observedAtMs,
    };
    candidates.put(candidate);
  }
}

/**
 * Lets waiting candidates go once the anchor is met, history and live ones together
 * (OT-42, OT-45).
 *
 * @param {IDBTransaction} transaction
 * @param {CheckpointRecord} checkpoint
 */
async function release(transaction, checkpoint) {
  const { channelAccountId, conversationId } = checkpoint;
  const key = [channelAccountId, conversationId, "awaiting_anchor"];
  const candidates = transaction.objectStore(CANDIDATES);
  for (;;) {
    /** @type {CandidateRecord[]} */
    const waiting = await firstUnder(
      transaction,
      CANDIDATES,
      "by_account_conversation_status",
      key,
      RELEASE_STEP,
    );
    for (const candidate of waiting) {
      candidates.put({ ...candidate, status: "pending_ack" });
    }
    if (waiting.length < RELEASE_STEP) return;
  }
}

/**
 * Adds what is not there yet: the first observation of an anomaly stays.
 *
 * @param {IDBTransaction} transaction
 * @param {AnomalyRecord[]} anomalies
 */
export async function writeAnomalies(transaction, anomalies) {
  const store = transaction.objectStore(ANOMALIES);
  /** @type {Map<string, AnomalyRecord>} */
  const firsts = new Map();
  for (const anomaly of anomalies) {
    if (!firsts.has(anomaly.key)) firsts.set(anomaly.key, anomaly);
  }
  await Promise.all(
    Array.from(firsts.values(), async (anomaly) => {
      const known = await done(store.getKey(anomaly.key));
      if (known === undefined) store.put(anomaly);
    }),
  );
}

/**
 * Records one anomaly that belongs to no batch.
 *
 * @param {import("./database.js").Database} database
 * @param {AnomalyRecord} anomaly
 * @returns {Promise<void>}
 */
export function recordAnomaly(database, anomaly) {
  return database.write([ANOMALIES], (transaction) =>
    writeAnomalies(transaction, [anomaly]),
  );
}

/**
 * When the newest confirmed message of a checkpoint was sent; 0 when there is none.
 *
 * @param {CheckpointRecord} checkpoint
 */
export function newestConfirmedAtMs(checkpoint) {
  return readCandidateKey(checkpoint.latestCandidateKey)?.sentAtMs ?? 0;
}
