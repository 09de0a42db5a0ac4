// Which histories have to be walked, and in which order.

import { newestConfirmedAtMs } from "../store/observations.js";

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */

/**
 * The latest active first; but whoever failed stands behind all that did not, the one that
 * failed last at the end: a few that fail every time must not keep the others waiting.
 *
 * @param {CheckpointRecord} left
 * @param {CheckpointRecord} right
 * @returns {number} as for `sort`
 */
export function walkOrder(left, right) {
  const failed = failedAt(left) - failedAt(right);
  return failed || (right.latestMessageAtMs ?? 0) - (left.latestMessageAtMs ?? 0);
}

/** @param {CheckpointRecord} checkpoint */
function failedAt({ result, failedAtMs }) {
  return result === null ? 0 : (failedAtMs ?? 0);
}

/**
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean} its history is not walked to the end, or something happened since
 */
export function needsWalk(checkpoint) {
  const activity = checkpoint.latestMessageAtMs ?? 0;
  if (!checkpoint.historyComplete) {
    // A history that stands still is not asked for ever; new activity tries it again.
    return !isStuck(checkpoint) || activity > (checkpoint.scannedActivityMs ?? 0);
  }
  if (checkpoint.isBehind === true) return true;
  // A scan that ended without its anchor holds everything back (OT-41), so what is new is
  // a reason to look for the anchor once more.
  const isSettled =
    checkpoint.phase === "completed" ||
    checkpoint.latestMessageId === null ||
    checkpoint.anchorState === "not_found";
  return isSettled && isBeyond(checkpoint);
}

/**
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean} the page stands still where its history was read last
 */
export function isStuck({ result }) {
  return result === "history_cursor_stuck";
}

/**
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean} the list tells of something newer than what was scanned or confirmed
 */
export function isBeyond(checkpoint) {
  const covered = Math.max(
    checkpoint.scannedActivityMs ?? 0,
    newestConfirmedAtMs(checkpoint),
  );
  return (checkpoint.latestMessageAtMs ?? 0) > covered;
}

/**
 * A dead page shows nothing where its own list told of a message: that is no end of a
 * history.
 *
 * @param {any} page
 * @param {import("../shared/paging.js").Position} asked
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean}
 */
export function isLie(page, asked, checkpoint) {
  const isEmpty = !Array.isArray(page.observations) || page.observations.length === 0;
  return (
    isEmpty &&
    asked.cursor === null &&
    checkpoint.latestMessageAtMs !== null &&
    page.hasMore !== true
  );
}
