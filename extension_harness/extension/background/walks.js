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
    // A history that stands still is not asked for ever; what is newer tries it again.
    if (!isStuck(checkpoint) || checkpoint.isBehind === true) return true;
    return activity > (checkpoint.scannedActivityMs ?? 0);
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
 * A conversation set up for its walk: where it stood, or a new scan when the list says that
 * something happened since the last.
 *
 * @param {CheckpointRecord} before
 * @param {number} throughMs what was said before this is over, and a scan will find it
 * @returns {CheckpointRecord | null} null: it needs no walk
 */
export function begun(before, throughMs) {
  if (!needsWalk(before)) return null;
  const scanned = {
    scannedActivityMs: before.latestMessageAtMs,
    scannedThroughMs: throughMs,
  };
  if (!before.historyComplete) {
    // What is newer than a place where all stands still is not found from there.
    if (isStuck(before)) {
      return { ...before, ...scanned, isBehind: false, nextTimeStamp: null };
    }
    // One that goes on where it stopped covers what it covered when it began.
    return before.nextTimeStamp === null ? { ...before, ...scanned } : before;
  }
  const isIncrement = before.anchorMessageId !== null;
  return {
    ...before,
    ...scanned,
    isBehind: false,
    phase: "paging",
    syncMode: isIncrement ? "incremental" : "full",
    anchorState: isIncrement ? "awaiting" : "none",
    anchorSeenAtMs: null,
    historyComplete: false,
    nextTimeStamp: null,
    completionSent: false,
    result: null,
  };
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
 * Beside the newest message there may be another of its millisecond that no page was there
 * to show, and the list's time tells nothing of it. The chat service's own clock says when
 * that cannot be any more: when, before the last scan, it had given a later time.
 *
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean} the millisecond of the newest message may not have been over when the
 *     history was scanned last
 */
export function isEdgeOpen(checkpoint) {
  const { latestMessageAtMs, scannedThroughMs } = checkpoint;
  const edgeMs = Math.max(latestMessageAtMs ?? 0, newestConfirmedAtMs(checkpoint));
  return edgeMs > 0 && edgeMs >= (scannedThroughMs ?? 0);
}

/**
 * A dead page shows nothing where its own list told of a message, or shows another
 * conversation's rows: that is no end of a history.
 *
 * @param {any} page
 * @param {import("../shared/paging.js").Position} asked
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean}
 */
export function isLie(page, asked, checkpoint) {
  const isEmpty = !showsAny(page, checkpoint.conversationId);
  return (
    isEmpty &&
    asked.cursor === null &&
    checkpoint.latestMessageAtMs !== null &&
    page.hasMore !== true
  );
}

/**
 * @param {any} page
 * @param {string} conversationId
 * @returns {boolean} it has rows, and not of other conversations alone
 */
export function showsAny(page, conversationId) {
  /** @type {any[]} */
  const rows = Array.isArray(page?.observations) ? page.observations : [];
  return rows.some(
    (row) =>
      typeof row?.conversationId !== "string" || row.conversationId === conversationId,
  );
}
