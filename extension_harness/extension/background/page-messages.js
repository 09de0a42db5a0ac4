// What pages tell the worker by themselves: who they are, what they lost, what they saw.

import { describeError } from "../shared/errors.js";
import { recordFacts } from "./buyer-facts.js";
import { recordRenderedCards } from "./cards.js";
import { noteLost } from "./coverage.js";
import { needsWalk } from "./walks.js";

/** @typedef {{code: string, message: string}} Described */

export class PageMessages {
  #parts;

  /**
   * @param {object} parts
   * @param {import("./coverage.js").Coverage} parts.coverage
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./health.js").Health} parts.health
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./recorder.js").Recorder} parts.recorder
   * @param {import("./sync.js").Sync} parts.sync
   * @param {import("./connection.js").Clock} parts.clock
   * @param {(ledger: string, account: string, conversation?: string) => void} parts.told
   *     something is on disk that one of the ledgers beside the messages has to tell
   * @param {(fault: Described) => unknown} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * A page says who it is, and of which conversations something was lost on the way here.
   *
   * @param {number} tabId
   * @param {{pageId: string, body: string}} message
   * @returns {Promise<{known: boolean, error?: Described}>} false: it has to be told again
   */
  async hello(tabId, { pageId, body }) {
    const { coverage, database, pages, sync } = this.#parts;
    const { channelAccountId, route, lost } = JSON.parse(body);
    try {
      await noteLost(database, lost);
    } catch (error) {
      return { known: false, error: this.#failed(error) };
    }
    const page = { tabId, pageId, channelAccountId, route: String(route ?? "") };
    // One that greets again may have said things that nobody heard, and one that was away,
    // or another account's, has missed some. It may also just show something else.
    const before = this.#knownAs(page);
    if (before === undefined || before.route === page.route) coverage.forget(pageId);
    if (!pages.register(page)) sync.relist(page);
    return { known: true };
  }

  /**
   * Answers only after the durable write: `stored` is true when it is on disk.
   *
   * @param {number} tabId
   * @param {{pageId: string, body: string}} message
   * @returns {Promise<{stored: boolean, error?: Described}>}
   */
  async observed(tabId, { pageId, body }) {
    const { coverage, pages, recorder, sync } = this.#parts;
    const { channelAccountId, conversationId, rows } = JSON.parse(body);
    try {
      const page = { tabId, pageId, channelAccountId, route: "" };
      // It was away, and what it missed is older than what it shows now.
      if (this.#knownAs(page) === undefined) coverage.forget(pageId);
      await coverage.seen(page, conversationId ? [{ conversationId }] : rows);
      const all = await recorder.record({
        channelAccountId,
        conversationId: conversationId ?? null,
        observations: rows,
        page: null,
      });
      if (all.some((each) => needsWalk(each.checkpoint))) sync.wake(channelAccountId);
      if (!pages.all.some((each) => each.pageId === pageId)) pages.register(page);
      return { stored: true };
    } catch (error) {
      return { stored: false, error: this.#failed(error) };
    }
  }

  /**
   * @param {import("./pages.js").Page} page
   * @returns {import("./pages.js").Page | undefined} the same page, where it is open and
   *     was this account's
   */
  #knownAs({ pageId, channelAccountId }) {
    return this.#parts.pages.all.find(
      (each) => each.pageId === pageId && each.channelAccountId === channelAccountId,
    );
  }

  /**
   * What is no message: answered after its own durable write, and no message waits for it.
   *
   * @param {{body: string}} message
   * @returns {Promise<{stored: boolean, error?: Described}>}
   */
  async told({ body }) {
    const { channelAccountId, entries, ledger } = JSON.parse(body);
    const { clock, database, told } = this.#parts;
    const nowMs = clock.now();
    try {
      if (ledger === "cards") {
        const added = await recordRenderedCards(
          database,
          channelAccountId,
          entries,
          nowMs,
        );
        if (added > 0) told("cards", channelAccountId);
      } else if (ledger === "facts") {
        const taken = await recordFacts(database, channelAccountId, entries, nowMs);
        for (const conversation of taken) {
          told("facts", channelAccountId, conversation);
        }
      }
      return { stored: true };
    } catch (error) {
      return { stored: false, error: this.#failed(error) };
    }
  }

  /**
   * A page says all that is wrong with it now.
   *
   * @param {number} tabId
   * @param {{pageId: string, body: string}} message
   * @returns {{known: boolean}}
   */
  troubles(tabId, { pageId, body }) {
    const { channelAccountId, troubles } = JSON.parse(body);
    this.#parts.pages.replaced(tabId, pageId);
    this.#parts.health.told(tabId, { pageId, channelAccountId }, troubles);
    return { known: true };
  }

  /** @param {unknown} error */
  #failed(error) {
    const fault = describeError(error);
    this.#parts.failed(fault);
    return fault;
  }
}
