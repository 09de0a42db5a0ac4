// Settings: every bound of the extension, with its default. What is stored overrides.

import { SettingsError } from "./errors.js";
import { LONGEST_TIMER_MS } from "./backoff.js";

/**
 * All times in milliseconds, sizes in bytes, counts in pieces.
 *
 * @typedef {object} Settings
 * @property {number} ackTimeoutMs without an answer to a batch the socket is abandoned
 * @property {number} openTimeoutMs from opening the socket to `welcome`
 * @property {number} backoffBaseMs
 * @property {number} backoffCapMs
 * @property {number} retryCoolMs base of the wait after a `retry` result
 * @property {number} maxBufferedBytes above it no further batch is handed to the socket
 * @property {number} maxBatchMessages beside the server's own limit
 * @property {number} maxInFlightBatches beside the server's own limit
 * @property {number} idleGraceMs the socket stays open so long with nothing to do
 * @property {boolean} connectWhilePageOpen false: an idle connection closes although a
 *     page is open, and the next observation opens it again
 * @property {number} historyPaceMs between two pages of history asked of the page
 * @property {number} historyPageSize
 * @property {number} historyMaxPageSize how far a page that stands still is widened
 * @property {number} pageTimeoutMs for one answer of the page
 * @property {number} pageAttempts tries of one request before the conversation waits
 * @property {number} listRefreshMs how often the conversation list is read again
 * @property {number} sendGapMs between two messages sent in an account's name
 * @property {number} sendMaxPerMinute
 * @property {number} claimRetryMs after which a claim without an anchor is sent again
 */

/** @type {Readonly<Settings>} */
export const DEFAULTS = Object.freeze({
  ackTimeoutMs: 10_000,
  openTimeoutMs: 10_000,
  backoffBaseMs: 500,
  backoffCapMs: LONGEST_TIMER_MS,
  retryCoolMs: 1_000,
  maxBufferedBytes: 1_048_576,
  maxBatchMessages: 200,
  maxInFlightBatches: 8,
  idleGraceMs: 20_000,
  connectWhilePageOpen: true,
  historyPaceMs: 300,
  historyPageSize: 50,
  historyMaxPageSize: 800,
  pageTimeoutMs: 20_000,
  pageAttempts: 3,
  listRefreshMs: 300_000,
  sendGapMs: 3_000,
  sendMaxPerMinute: 8,
  claimRetryMs: 30_000,
});

/**
 * The settings in force: defaults, overridden by stored values of the right type.
 *
 * @param {unknown} stored
 * @returns {Settings}
 */
export function settingsFrom(stored) {
  /** @type {Record<string, unknown>} */
  const merged = { ...DEFAULTS };
  if (stored !== null && typeof stored === "object") {
    for (const [name, value] of Object.entries(stored)) {
      if (name in DEFAULTS && typeof value === typeof merged[name]) {
        if (typeof value !== "number" || (Number.isFinite(value) && value >= 0)) {
          merged[name] = value;
        }
      }
    }
  }
  const settings = /** @type {Settings} */ (/** @type {unknown} */ (merged));
  settings.backoffCapMs = Math.min(settings.backoffCapMs, LONGEST_TIMER_MS);
  return settings;
}

/**
 * The WebSocket address of the extension's endpoint for what a person typed.
 *
 * Takes http, https, ws and wss addresses, or a bare host with a port. The token is in no
 * address: one with user, query or fragment is refused.
 *
 * @param {string} text
 * @returns {string} `ws://…/v1/extension` or `wss://…/v1/extension`
 * @throws {SettingsError} `address_missing`, `address_invalid`
 */
export function extensionEndpoint(text) {
  const typed = text.trim();
  if (typed === "") throw new SettingsError("address_missing", "No server address.");
  const withScheme = /^[a-z]+:\/\//i.test(typed) ? typed : `ws://${typed}`;
  /** @type {URL} */
  let url;
  try {
    url = new URL(withScheme);
  } catch (cause) {
    throw new SettingsError("address_invalid", "The address cannot be read.", {
      cause,
    });
  }
  const scheme = { "http:": "ws:", "https:": "wss:", "ws:": "ws:", "wss:": "wss:" }[
    url.protocol
  ];
  if (!scheme || url.username || url.password || url.search || url.hash || !url.host) {
    throw new SettingsError(
      "address_invalid",
      "An address looks like wss://bright.example, without user, query or fragment.",
    );
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/v1\/extension$/, "");
  return `${scheme}//${url.host}${path}/v1/extension`;
}
