// Sending one message by the page's own means, once. Nothing that the page answers proves a
// delivery: only the message in the history does. What is not proven in time is
// `delivery_unknown`, and is not sent again (OT-62); should it arrive, it is observed as
// every other.

import { describeError } from "../shared/errors.js";
import { noteLost } from "./coverage.js";

/** Rows of the newest history in which the message is looked for. */
const SHOWN = 20;
/** Between two looks. */
const LOOK_MS = 400;
/** With these the page's own call was not made. */
const NOT_ATTEMPTED = ["surface_missing", "account_changed", "account_unknown"];

/** @typedef {import("./pages.js").Page} Page */
/** @typedef {import("./commands.js").Result} Result */

/**
 * @typedef {object} Message
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {string} text
 */

/**
 * @typedef {object} Errand
 * @property {() => boolean} isCurrent the connection that asked is still there
 * @property {() => number} leftMs until the deadline
 */

export class Sending {
  /** @type {Set<string>} conversations into which something is being sent */
  #underWay = new Set();
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {import("./pace.js").Pace} parts.pace
   * @param {(account: string) => Promise<boolean>} parts.isAllowed the account's consent
   * @param {(account: string) => void} parts.attempted its history is worth a look
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * @param {Message} message
   * @param {Errand} errand
   * @returns {Promise<Result | null>} null: whoever asked is gone before anything was sent
   * @throws {import("../shared/errors.js").PageError} nothing was sent
   * @throws {import("../shared/errors.js").StoreError} nothing was sent
   */
  async send(message, errand) {
    const { channelAccountId, conversationId } = message;
    const scope = JSON.stringify([channelAccountId, conversationId]);
    if (this.#underWay.has(scope)) return failed("busy");
    this.#underWay.add(scope);
    try {
      return await this.#sendOnce(message, errand);
    } finally {
      this.#underWay.delete(scope);
    }
  }

  /**
   * @param {Message} message
   * @param {Errand} errand
   * @returns {Promise<Result | null>}
   */
  async #sendOnce(message, errand) {
    const { database, isAllowed, pace, pages } = this.#parts;
    const { channelAccountId: account, conversationId } = message;
    if (!(await isAllowed(account))) return failed("consent_missing");
    const page = pages.of(account);
    if (page === undefined) return failed("page_missing");
    if (!(await pace.take(account))) return failed("paced");
    const before = new Set((await this.#shown(page, message)).map((row) => row.id));
    // Before, and on disk: another life of this worker finds what came of it, too.
    await noteLost(database, [[account, conversationId]]);
    // Asked right before: it may have been taken back meanwhile.
    if (!(await isAllowed(account))) return failed("consent_missing");
    if (!errand.isCurrent()) return null;
    if (errand.leftMs() <= 0) return failed("deadline_passed");
    const attempt = await this.#attempt(page, message, errand);
    if (attempt.refusal !== null) return failed(attempt.refusal);
    await noteLost(database, [[account, conversationId]]);
    this.#parts.attempted(account);
    return this.#awaited(page, message, before, attempt.trouble, errand);
  }

  /**
   * @param {Page} page
   * @param {Message} message
   * @param {Errand} errand
   * @returns {Promise<{refusal: string | null, trouble: string | null}>}
   */
  async #attempt(page, { conversationId, text }, errand) {
    const { pages, settings } = this.#parts;
    const timeoutMs = Math.min(settings().pageTimeoutMs, errand.leftMs());
    try {
      const body = { conversationId, text, timeoutMs };
      const answer = await pages.ask(page, "send", body, timeoutMs + LOOK_MS);
      return { refusal: null, trouble: answer.trouble ?? null };
    } catch (error) {
      const { code } = describeError(error);
      const isCertain = NOT_ATTEMPTED.includes(code);
      return { refusal: isCertain ? code : null, trouble: code };
    }
  }

  /**
   * Looks for the message until it is there, or the time is over.
   *
   * @param {Page} page
   * @param {Message} message
   * @param {Set<string>} before what looked like it already
   * @param {string | null} trouble what the page said of the attempt
   * @param {Errand} errand
   * @returns {Promise<Result | null>}
   */
  async #awaited(page, message, before, trouble, errand) {
    const { clock } = this.#parts;
    let code = trouble ?? "not_confirmed";
    while (errand.isCurrent() && errand.leftMs() > 0) {
      try {
        const rows = await this.#shown(page, message);
        if (rows.some((row) => !before.has(row.id))) {
          return { outcome: "done", reason: null };
        }
      } catch (error) {
        code = trouble ?? describeError(error).code;
      }
      const pauseMs = Math.max(1, Math.min(LOOK_MS, errand.leftMs()));
      await new Promise((resolve) => clock.after(() => resolve(null), pauseMs));
    }
    return errand.isCurrent() ? { outcome: "delivery_unknown", reason: code } : null;
  }

  /**
   * The newest own messages of the conversation that say just this.
   *
   * @param {Page} page
   * @param {Message} message
   * @returns {Promise<{id: string}[]>}
   */
  async #shown(page, { conversationId, text }) {
    const { pages, settings } = this.#parts;
    const timeoutMs = settings().pageTimeoutMs;
    const ask = {
      conversationId,
      cursor: null,
      count: SHOWN,
      timeoutMs: timeoutMs / 3,
    };
    const answer = await pages.ask(page, "history", ask, timeoutMs);
    /** @type {any[]} */
    const rows = answer.page?.observations ?? [];
    return rows
      .filter((row) => row.direction === "outbound" && isSame(row.text, text))
      .filter((row) => row.conversationId === conversationId) // pages mix them up
      .map((row) => ({ id: String(row.messageId) }));
  }
}

/**
 * Pages change the spaces of a text, and nothing else of one without markup.
 *
 * @param {unknown} shown
 * @param {string} sent
 */
function isSame(shown, sent) {
  if (typeof shown !== "string") return false;
  /** @param {string} text */
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  return plain(shown) === plain(sent);
}

/**
 * @param {string} reason
 * @returns {Result}
 */
function failed(reason) {
  return { outcome: "failed", reason };
}
