// The OneTalk pages that are open, and asking them. The list is no more than a memory of
// this worker's life: after a restart the tabs are asked what they are (OT-63).

import { PageError } from "../shared/errors.js";

/**
 * @typedef {object} Page
 * @property {number} tabId
 * @property {string} pageId
 * @property {string} channelAccountId
 * @property {string} route
 */

/** A page that is being opened listens after that. */
const RELOOK_MS = 3_000;

/** Nothing at all came back: not even that one of the page's own calls is late. */
class Silence extends PageError {}

export class Pages {
  /** @type {Map<number, Page>} by tab */
  #pages = new Map();
  #browser;
  #clock;
  #health;
  #registered;
  /** @type {Set<number>} tabs in which nobody listened, looked at once more */
  #unreached = new Set();

  /**
   * @param {object} parts
   * @param {{pageTabs: () => Promise<{id: number}[]>,
   *     askTab: (tabId: number, kind: string, body: Record<string, unknown>) => Promise<any>}} parts.browser
   * @param {import("./connection.js").Clock} parts.clock
   * @param {import("./health.js").Health} parts.health
   * @param {(page: Page) => void} parts.registered a page is new, or another than before
   */
  constructor({ browser, clock, health, registered }) {
    this.#health = health;
    this.#browser = browser;
    this.#clock = clock;
    this.#registered = registered;
  }

  /** @returns {Page[]} */
  get all() {
    return Array.from(this.#pages.values());
  }

  /** @returns {boolean} */
  get isAnyOpen() {
    // One that nobody can read is still worth telling Bright of.
    return this.#pages.size > 0 || this.#health.troubled.length > 0;
  }

  /**
   * @param {string} channelAccountId
   * @returns {Page | undefined} the newest that shows this account and can be asked: an
   *     older one may be closed already, and a newer one frozen
   */
  of(channelAccountId) {
    const own = this.all.filter((page) => page.channelAccountId === channelAccountId);
    return own.findLast(({ tabId }) => !this.#health.isOut(tabId)) ?? own.at(-1);
  }

  /**
   * @param {Page} page
   * @returns {boolean} false: it was known just so
   */
  register(page) {
    const before = this.#pages.get(page.tabId);
    const isSame =
      before?.pageId === page.pageId &&
      before.channelAccountId === page.channelAccountId &&
      before.route === page.route;
    this.#health.opened(page, before);
    if (isSame) return false;
    this.#pages.delete(page.tabId); // so that it stands last
    this.#pages.set(page.tabId, page);
    this.#registered(page);
    return true;
  }

  /**
   * Another page speaks in a tab: whatever was known there is gone.
   *
   * @param {number} tabId
   * @param {string} pageId
   */
  replaced(tabId, pageId) {
    const before = this.#pages.get(tabId);
    if (before === undefined || before.pageId === pageId) return;
    this.#pages.delete(tabId);
    this.#health.closed(tabId, before);
  }

  /**
   * A page said goodbye. Not each one can: the next look finds those that could not.
   *
   * @param {number} tabId
   * @param {string} pageId
   */
  gone(tabId, pageId) {
    const known = this.#pages.get(tabId);
    if (known !== undefined && known.pageId !== pageId) return; // another took its place
    this.#pages.delete(tabId);
    this.#health.closed(tabId, known);
  }

  /**
   * Asks every OneTalk tab what it is, and forgets the ones that are gone.
   *
   * @param {number} timeoutMs
   * @returns {Promise<void>}
   */
  async look(timeoutMs) {
    const tabs = await this.#browser.pageTabs();
    const open = new Set(tabs.map((tab) => tab.id));
    for (const tabId of new Set([...this.#pages.keys(), ...this.#health.tabs])) {
      if (open.has(tabId)) continue;
      this.#health.closed(tabId, this.#pages.get(tabId));
      this.#pages.delete(tabId);
    }
    await Promise.allSettled(tabs.map(({ id }) => this.#describe(id, timeoutMs)));
  }

  /**
   * @param {number} tabId
   * @param {number} timeoutMs
   */
  async #describe(tabId, timeoutMs) {
    try {
      const { pageId, answer } = await this.#ask(tabId, "describe", {}, timeoutMs);
      this.#unreached.delete(tabId);
      const { channelAccountId, route, troubles } = answer;
      const isKnown = typeof channelAccountId === "string";
      if (!isKnown) this.replaced(tabId, pageId);
      const account = isKnown ? channelAccountId : null;
      if (isKnown) {
        this.register({ tabId, pageId, channelAccountId, route: String(route) });
      }
      this.#health.told(tabId, { pageId, channelAccountId: account }, troubles);
    } catch (error) {
      this.#notDescribed(tabId, timeoutMs, error);
    }
  }

  /**
   * @param {number} tabId
   * @param {number} timeoutMs
   * @param {unknown} error
   */
  #notDescribed(tabId, timeoutMs, error) {
    const code = error instanceof PageError ? error.code : "page_failed";
    const page = this.#pages.get(tabId);
    const isSilent = error instanceof Silence;
    if (code !== "page_gone") {
      // One that nobody knows stays worth a look for as long as its tab is open.
      if (page === undefined) this.#health.unanswered(tabId);
      else if (isSilent) this.#health.silent(page);
      return;
    }
    if (this.#unreached.has(tabId)) return this.#health.unreached(tabId);
    // A page that is just being opened has nobody yet who listens.
    this.#unreached.add(tabId);
    this.#clock.after(() => void this.#lookAgain(tabId, timeoutMs), RELOOK_MS);
  }

  /**
   * @param {number} tabId
   * @param {number} timeoutMs
   */
  async #lookAgain(tabId, timeoutMs) {
    if (!this.#unreached.has(tabId)) return;
    const tabs = await this.#browser.pageTabs();
    if (tabs.some(({ id }) => id === tabId)) await this.#describe(tabId, timeoutMs);
    else this.#unreached.delete(tabId);
  }

  /**
   * Asks one page.
   *
   * @param {Page} page
   * @param {"conversations" | "describe" | "history" | "send"} kind
   * @param {Record<string, unknown>} body
   * @param {number} timeoutMs
   * @returns {Promise<any>}
   * @throws {PageError} `page_gone`, `page_timeout`, and the bridge's own codes
   */
  async ask(page, kind, body, timeoutMs) {
    const whole = { ...body, channelAccountId: page.channelAccountId };
    try {
      const { answer } = await this.#ask(page.tabId, kind, whole, timeoutMs);
      this.#health.answered(page);
      return answer;
    } catch (error) {
      if (error instanceof Silence) this.#health.silent(page);
      this.#forgetGone(page, error);
      throw error;
    }
  }

  /**
   * A page that cannot be reached must not stand before one that can. Should it live, it
   * tells itself again with its next word.
   *
   * @param {Page} page
   * @param {unknown} error
   */
  #forgetGone(page, error) {
    const isGone = error instanceof PageError && error.code === "page_gone";
    if (isGone && this.#pages.get(page.tabId)?.pageId === page.pageId) {
      this.#pages.delete(page.tabId);
      this.#health.closed(page.tabId, page);
    }
  }

  /**
   * @param {number} tabId
   * @param {string} kind
   * @param {Record<string, unknown>} body
   * @param {number} timeoutMs
   * @returns {Promise<{pageId: string, answer: any}>}
   */
  async #ask(tabId, kind, body, timeoutMs) {
    /** @type {number | undefined} */
    let timer;
    const late = new Promise((_resolve, reject) => {
      timer = this.#clock.after(
        () => reject(new Silence("page_timeout", "The page did not answer in time.")),
        timeoutMs,
      );
    });
    try {
      const response = await Promise.race([
        this.#browser.askTab(tabId, kind, body).catch((cause) => {
          throw new PageError("page_gone", "The page is not reachable.", { cause });
        }),
        late,
      ]);
      if (response?.error) {
        throw new PageError(
          String(response.error.code),
          String(response.error.message),
        );
      }
      if (!response?.answer)
        throw new PageError("page_gone", "The page did not answer.");
      return response;
    } finally {
      this.#clock.cancel(timer);
    }
  }
}
