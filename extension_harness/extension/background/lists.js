// Conversation lists: asks a page for its list, stores it, and asks again while the page
// has only the beginning of it, or when it has grown old.

import { LONGEST_TIMER_MS } from "../shared/backoff.js";
import { takeList } from "../store/checkpoints.js";
import { recordProfiles } from "./profiles.js";

/** Conversations written in one transaction, and told in one frame. */
const CHUNK = 200;
/** First wait before a list that was not whole is read again; it doubles. */
const AGAIN_MS = 500;
/** After so many reads an incomplete list is no reason of its own to stay connected. */
const MAX_TRIES = 8;

/** @typedef {import("../store/checkpoints.js").ListedConversation} ListedConversation */
/** @typedef {import("./pages.js").Page} Page */

export class Lists {
  /** @type {Map<string, {readAtMs: number | null, tries: number}>} by page */
  #read = new Map();
  /** @type {Map<string, number>} by account: when its list is read again by itself */
  #timers = new Map();
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {(channelAccountId: string, conversations: ListedConversation[]) => Promise<void>} parts.listed
   *     told of each part of a list after it is stored
   * @param {(channelAccountId: string, conversations: string[]) => void} parts.met told of
   *     conversations that have a checkpoint only now
   * @param {(channelAccountId: string) => void} parts.profiled there are profiles that
   *     Bright does not know yet
   * @param {(channelAccountId: string) => void} parts.again a list should be read again
   * @param {(error: unknown) => void} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @returns {boolean} an open page's list was not read yet */
  get isAnyUnread() {
    const { pages } = this.#parts;
    return pages.all.some((page) => {
      // Of several pages of an account only one is asked.
      if (pages.of(page.channelAccountId) !== page) return false;
      const list = this.#read.get(page.pageId);
      return list === undefined || (list.readAtMs === null && list.tries < MAX_TRIES);
    });
  }

  /** @param {Page} page whose list is to be read although it is not due */
  forget(page) {
    this.#read.delete(page.pageId);
  }

  /**
   * Reads the account's list when it is due. A page that does not answer is no reason to
   * stop: what the store knows already can go on.
   *
   * @param {string} account
   * @returns {Promise<boolean>} the whole of it was read and stored now
   */
  async read(account) {
    const { again, clock, pages, settings } = this.#parts;
    const page = pages.of(account);
    if (page === undefined) return false;
    const before = this.#read.get(page.pageId) ?? { readAtMs: null, tries: 0 };
    const isFresh =
      before.readAtMs !== null &&
      clock.steady() - before.readAtMs < settings().listRefreshMs;
    if (isFresh) return false;
    const isWhole = await this.#take(account, page);
    const tries = isWhole ? 0 : before.tries + 1;
    this.#forgetGone();
    this.#read.set(page.pageId, { readAtMs: isWhole ? clock.steady() : null, tries });
    this.rest(account);
    if (isWhole) return true;
    // Early in its life a page has only the beginning of its list: soon again, then rarer.
    const timer = clock.after(
      () => {
        this.#timers.delete(account);
        again(account);
      },
      Math.min(LONGEST_TIMER_MS, AGAIN_MS * 2 ** tries),
    );
    this.#timers.set(account, timer);
    return false;
  }

  /** @param {string} account whose list is read again when somebody asks, no sooner */
  rest(account) {
    this.#parts.clock.cancel(this.#timers.get(account));
    this.#timers.delete(account);
  }

  #forgetGone() {
    const open = new Set(this.#parts.pages.all.map((page) => page.pageId));
    for (const pageId of this.#read.keys()) {
      if (!open.has(pageId)) this.#read.delete(pageId);
    }
  }

  /**
   * @param {string} account
   * @param {Page} page
   * @returns {Promise<boolean>} false: the page has only a part of its list, or none
   */
  async #take(account, page) {
    const { clock, database, listed, met, pages, settings } = this.#parts;
    const timeoutMs = settings().pageTimeoutMs;
    try {
      const body = { timeoutMs: timeoutMs / 2 };
      const answer = await pages.ask(page, "conversations", body, timeoutMs);
      const rows = answer.conversations.filter(isListed);
      const observedAtMs = clock.now();
      for (let start = 0; start < rows.length; start += CHUNK) {
        const chunk = rows.slice(start, start + CHUNK);
        const conversations = chunk.map(conversationOf);
        met(account, await takeList(database, account, conversations, observedAtMs));
        await listed(account, conversations);
        // Apart, and last: a profile that cannot be kept holds up no message (OT-87).
        await this.#takeProfiles(account, chunk, observedAtMs);
      }
      return answer.isWhole === true;
    } catch (error) {
      this.#parts.failed(error);
      return false;
    }
  }

  /**
   * @param {string} account
   * @param {any[]} rows
   * @param {number} observedAtMs
   */
  async #takeProfiles(account, rows, observedAtMs) {
    const { database, failed, profiled } = this.#parts;
    try {
      // What is not on disk is not told to anybody (OT-85).
      const pending = await recordProfiles(database, account, rows, observedAtMs);
      if (pending > 0) profiled(account);
    } catch (error) {
      failed(error);
    }
  }
}

/** @param {any} listed */
function isListed(listed) {
  const time = listed?.latestMessageAtMs;
  return (
    typeof listed?.conversationId === "string" &&
    listed.conversationId !== "" &&
    listed.conversationId.length <= 256 &&
    (time === null || Number.isSafeInteger(time))
  );
}

/**
 * @param {any} listed
 * @returns {ListedConversation} what a bootstrap keeps of it
 */
function conversationOf({ conversationId, latestMessageAtMs, title }) {
  return typeof title === "string"
    ? { conversationId, latestMessageAtMs, title }
    : { conversationId, latestMessageAtMs };
}
