// Anomaly records: one form, and a key that is a digest, so that the same observation seen
// again is the same anomaly.

import { digestOf } from "./normal-form.js";

/**
 * Makes an anomaly's record.
 *
 * @param {{code: string, messageId: string | null, observed: unknown}} found
 * @param {object} scope
 * @param {string} scope.channelAccountId
 * @param {string} scope.conversationId "" where nothing names one
 * @param {string} scope.surface
 * @param {number} scope.nowMs
 * @returns {Promise<import("./records.js").AnomalyRecord>}
 */
export async function anomalyRecord(found, scope) {
  const { channelAccountId, conversationId, surface, nowMs } = scope;
  const digest = await digestOf(found);
  return {
    key: JSON.stringify([channelAccountId, conversationId, found.code, digest]),
    channelAccountId,
    conversationId,
    code: found.code,
    messageId: found.messageId,
    surface,
    observedAtMs: nowMs,
    observed: found.observed,
  };
}
