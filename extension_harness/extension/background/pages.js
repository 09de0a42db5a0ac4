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

export class Pages {
  /** @type {Map<number, Page>} by tab */
  #pages = new Map();
  #browser;
  #clock;
  #registered;

  /**
   * @param {object} parts
   * @param {{pageTabs: () => Promise<{id: number}[]>,
   *     askTab: (tabId: number, kind: string, body: Record<string, unknown>) => Promise<any>}} parts.browser
   * @param {import("./connection.js").Clock} parts.clock
   * @param {(page: Page) => void} parts.registered a page is new, or another than before
   */
  constructor({ browser, clock, registered }) {
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
    return this.#pages.size > 0;
  }

  /**
   * @param {string} channelAccountId
   * @returns {Page | undefined} the newest that shows this account: an older one may be
   *     closed already
   */
  of(channelAccountId) {
    return this.all.findLast((page) => page.channelAccountId === channelAccountId);
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
    if (isSame) return false;
    this.#pages.delete(page.tabId); // so that it stands last
    this.#pages.set(page.tabId, page);
    this.#registered(page);
    return true;
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
    for (const tabId of this.#pages.keys()) {
      if (!open.has(tabId)) this.#pages.delete(tabId);
    }
    await Promise.allSettled(
      tabs.map(async ({ id }) => {
        const { pageId, answer } = await this.#ask(id, "describe", {}, timeoutMs);
        const { channelAccountId, route } = answer;
        if (typeof channelAccountId !== "string") return;
        this.register({ tabId: id, pageId, channelAccountId, route: String(route) });
      }),
    );
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
      return answer;
    } catch (error) {
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
        () => reject(new PageError("page_timeout", "The page did not answer in time.")),
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
