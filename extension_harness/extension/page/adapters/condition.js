// Surface: the page's own condition. What is wrong with it, in the stable words of
// docs/page-trouble.md, from what its calls were answered and from what it shows. Looked
// at, never touched.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];

  /** What a page in good health is through with, after it was opened or was well. */
  const PATIENCE_MS = 20_000;
  /** Looking at all of a page's text costs its layout. */
  const LOOK_MS = 2_000;
  /** A page that shows less has neither a list nor messages; one in health has thousands. */
  const FEW_CHARACTERS = 400;
  const ROWS = "[class*='contact-item']";
  const SEARCHES = "input[type='search'], [class*='search'] input";
  const SDK = "sdkHistory";
  const DISCONNECTED = "网络连接已经断开";
  const LOADING = /\b(is )?loading\b/i;
  const CAPTCHA = "#baxia-punish, .baxia-dialog, iframe[src*='punish']";
  const BANNERS = "[role='status'], [class*='connection'], [class*='network']";

  /** @type {Record<string, string>} the trouble that a fault of a call means */
  const MEANING = {
    login_lost: "login_lost",
    captcha: "captcha",
    page_busy: "page_busy",
  };

  /** @type {Map<string, string>} trouble by the call that was answered so last */
  const answered = new Map();
  /** @type {Map<string, number>} since when it could be a trouble */
  const since = new Map();
  /** @type {string[]} */
  let seen = [];
  let lookedAtMs = -Infinity;

  /**
   * What became of a call, the page's own or ours. Any good answer means that the page is
   * not busy, and one over HTTP that it lets somebody in; that one call is silent only its
   * own answer ends.
   *
   * @param {string} call
   * @param {string | null} code null: a good answer
   */
  function note(call, code) {
    const isSilent = call === SDK && code === "page_timeout";
    const trouble = isSilent ? "history_silent" : MEANING[code ?? ""];
    if (trouble !== undefined) answered.set(call, trouble);
    if (code !== null) return;
    answered.delete(call);
    const ended = call === SDK ? ["page_busy"] : Object.values(MEANING);
    for (const [other, word] of answered) {
      if (ended.includes(word)) answered.delete(other);
    }
  }

  /** @param {Element} element */
  function isShown(element) {
    // The banner's text also stays in a container without height.
    return element.checkVisibility() && element.getBoundingClientRect().height > 0;
  }

  /** @param {string} selector */
  function shown(selector) {
    return Array.from(document.querySelectorAll(selector)).filter(isShown);
  }

  function hasSdk() {
    const page = /** @type {any} */ (window);
    return Boolean(page.IcbuIM?.IMBaaSSDK?.default ?? page._imBaaSSDK ?? page._imsdk);
  }

  /** The page knows conversations and shows none, and nobody searches for one. */
  function isEmptied() {
    const searches = /** @type {NodeListOf<HTMLInputElement>} */ (
      document.querySelectorAll(SEARCHES)
    );
    if (Array.from(searches).some((search) => search.value !== "")) return false;
    return bright.adapters.conversationLists.isAny() && shown(ROWS).length === 0;
  }

  /**
   * @param {string} trouble
   * @param {boolean} holds
   * @returns {boolean} it holds for longer than a page in health would need
   */
  function lasts(trouble, holds) {
    if (!holds) since.delete(trouble);
    else if (!since.has(trouble)) since.set(trouble, performance.now());
    return holds && performance.now() - (since.get(trouble) ?? 0) >= PATIENCE_MS;
  }

  /** @returns {string[]} */
  function look() {
    const text = document.body?.innerText ?? "";
    const isBare = text.trim().length < FEW_CHARACTERS;
    const isLoading =
      isBare && (LOADING.test(text) || document.readyState === "loading");
    const isKnown = bright.messages.account() !== undefined;
    /** @type {[string, boolean][]} */
    const found = [
      ["captcha", shown(CAPTCHA).length > 0],
      [
        "disconnected",
        shown(BANNERS).some((each) => each.textContent?.includes(DISCONNECTED)),
      ],
      ["account_unknown", lasts("account_unknown", !isKnown)],
      ["still_loading", lasts("still_loading", isLoading)],
      ["sdk_missing", lasts("sdk_missing", !hasSdk())],
      ["page_dead", lasts("page_dead", isBare && !isLoading && isEmptied())],
    ];
    return found.filter(([, holds]) => holds).map(([trouble]) => trouble);
  }

  bright.adapters.condition = {
    note,
    read() {
      if (performance.now() - lookedAtMs >= LOOK_MS) {
        lookedAtMs = performance.now();
        seen = look();
      }
      return [...new Set([...answered.values(), ...seen])].sort();
    },
  };
})();
