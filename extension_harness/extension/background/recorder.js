// The recorder: what a page observed becomes facts, candidates and anomalies in the durable
// store, before anything else may happen with it (OT-30). It returns when the write is on
// disk and throws when it is not (OT-31).

import { anomalyRecord } from "../shared/anomalies.js";
import { digestOf, readObservation } from "../shared/normal-form.js";
import { recordAnomaly, recordBatch } from "../store/observations.js";

/** @typedef {import("../shared/records.js").Observation} Observation */
/** @typedef {import("../shared/records.js").AnomalyRecord} AnomalyRecord */
/** @typedef {import("../store/observations.js").PagePosition} PagePosition */
/** @typedef {import("../store/observations.js").PreparedFact} PreparedFact */
/** @typedef {import("../store/observations.js").Recorded} Recorded */

/** Messages written in one transaction; a larger batch is written in parts. */
const MAX_PART = 500;

/**
 * @typedef {object} Observed
 * @property {string} channelAccountId
 * @property {string | null} conversationId the conversation whose rows these are; null:
 *     each row says its own
 * @property {Observation[]} observations
 * @property {PagePosition | null} page set for a page of history
 */

export class Recorder {
  #database;
  #now;
  #recorded;

  /**
   * @param {import("../store/database.js").Database} database
   * @param {() => number} now
   * @param {(recorded: Recorded) => void} recorded told after each durable write
   */
  constructor(database, now, recorded) {
    this.#database = database;
    this.#now = now;
    this.#recorded = recorded;
  }

  /**
   * Records a batch; when this returns it is all on disk. Recording the same again
   * changes nothing.
   *
   * @param {Observed} observed
   * @returns {Promise<Recorded[]>} one per conversation and part
   * @throws {import("../shared/errors.js").StoreError}
   */
  async record(observed) {
    const { channelAccountId, page } = observed;
    const nowMs = this.#now();
    const { facts, anomalies } = await judged(observed, nowMs);
    if (page !== null && observed.conversationId !== null) {
      facts.set(observed.conversationId, facts.get(observed.conversationId) ?? []);
    }
    const loose = anomalies.filter((each) => !facts.has(each.conversationId));
    for (const anomaly of loose) await recordAnomaly(this.#database, anomaly);
    /** @type {Recorded[]} */
    const all = [];
    for (const [conversationId, ofConversation] of facts) {
      const ownAnomalies = anomalies.filter(
        (each) => each.conversationId === conversationId,
      );
      const ifNoAnchor = await anomalyRecord(
        { code: "incremental_anchor_not_found", messageId: null, observed: {} },
        { channelAccountId, conversationId, surface: "recorder", nowMs },
      );
      for (const part of inParts(ofConversation)) {
        const isLast = part.end;
        const recorded = await recordBatch(this.#database, {
          channelAccountId,
          conversationId,
          facts: part.facts,
          anomalies: isLast ? ownAnomalies : [],
          observedAtMs: nowMs,
          // The position moves with the last part, never before its rows.
          page: isLast ? page : null,
          isPartOfPage: page !== null,
          ifNoAnchor,
        });
        all.push(recorded);
        this.#recorded(recorded);
      }
    }
    return all;
  }

  /**
   * Records an anomaly that the extension itself noticed.
   *
   * @param {string} channelAccountId
   * @param {string} conversationId
   * @param {string} code
   * @param {Record<string, unknown>} detail
   */
  async note(channelAccountId, conversationId, code, detail) {
    const scope = {
      channelAccountId,
      conversationId,
      surface: "extension",
      nowMs: this.#now(),
    };
    const found = { code, messageId: null, observed: detail };
    await recordAnomaly(this.#database, await anomalyRecord(found, scope));
  }
}

/**
 * Every observation judged: facts by conversation, and anomalies.
 *
 * @param {Observed} observed
 * @param {number} nowMs
 */
async function judged(observed, nowMs) {
  const { channelAccountId, conversationId } = observed;
  /** @type {Map<string, PreparedFact[]>} */
  const facts = new Map();
  /** @type {AnomalyRecord[]} */
  const anomalies = [];
  for (const observation of observed.observations) {
    const read = readObservation(observation, { channelAccountId, conversationId });
    const surface = String(observation?.surface ?? "unknown");
    if ("code" in read) {
      const named = conversationId ?? observation?.conversationId;
      const home = typeof named === "string" ? named.slice(0, 256) : "";
      const scope = { channelAccountId, conversationId: home, surface, nowMs };
      anomalies.push(await anomalyRecord(read, scope));
      continue;
    }
    const home = read.fact.conversationId;
    const scope = { channelAccountId, conversationId: home, surface, nowMs };
    const fact = await prepared(read, scope);
    const before = facts.get(home);
    if (before) before.push(fact);
    else facts.set(home, [fact]);
  }
  return { facts, anomalies };
}

/**
 * Digests are made here, before the transaction: nothing foreign is awaited inside one.
 *
 * @param {import("../shared/normal-form.js").ReadFact} read
 * @param {Parameters<typeof anomalyRecord>[1]} scope
 * @returns {Promise<PreparedFact>}
 */
async function prepared(read, scope) {
  const { fact: content, raw } = read;
  const { messageId } = content;
  const conflict = { code: "conflict", messageId, observed: content };
  /** @type {PreparedFact} */
  const fact = {
    content,
    digest: await digestOf(content),
    ifConflict: await anomalyRecord(conflict, scope),
  };
  return raw ? { ...fact, raw } : fact;
}

/**
 * @param {PreparedFact[]} facts
 * @returns {{facts: PreparedFact[], end: boolean}[]} at least one part
 */
function inParts(facts) {
  const parts = [];
  for (let start = 0; start === 0 || start < facts.length; start += MAX_PART) {
    const end = start + MAX_PART;
    parts.push({ facts: facts.slice(start, end), end: end >= facts.length });
  }
  return parts;
}
