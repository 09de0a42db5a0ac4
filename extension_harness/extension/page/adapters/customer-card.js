// Surface: the customer card's own call, which is a script with a call-back (JSONP). What it
// answers names nobody; the question does, by an encrypted id that one list row has.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { isObject } = bright.fields;

  const PATH = "/jsonp/customerPluginQueryServiceI/queryCustomerInfo.json";
  /** Our names for the page's counts; a hidden one is -1, an absent one null. */
  const COUNTS = {
    productViewCount: "productViewCount",
    validInquiryCount: "validInquiryCount",
    repliedInquiryCount: "repliedInquiryCount",
    validRfqCount: "validRfqCount",
    loginDays: "loginDays",
    spamMarkCount: "spamInquiryMarkedBySupplierCount",
    blockListCount: "addedToBlacklistCount",
    orderCount: "totalOrderCount",
    orderVolume: "totalOrderVolume",
    tradeSupplierCount: "tradeSupplierCount",
  };

  /** @param {unknown} value */
  function text(value) {
    return typeof value === "string" && value.trim() !== ""
      ? bright.text.storable(value.trim())
      : undefined;
  }

  /** @param {unknown} value */
  function count(value) {
    const found = bright.fields.number(value);
    return found !== undefined && found >= 0 ? found : undefined;
  }

  /**
   * How to reach the buyer is no part of it.
   *
   * @param {Record<string, any>} info
   * @returns {Record<string, unknown>}
   */
  function factsOf(info) {
    const industries = Array.isArray(info.preferredIndustries)
      ? info.preferredIndustries.map(text).filter((each) => each !== undefined)
      : [];
    const facts = {
      country: text(info.country),
      level: text(info.growthLevelInfo?.growthLevel),
      qualityTag: text(info.highQualityLevelTag),
      registeredAtMs: bright.fields.timeMs(info.registerDate),
      industries: industries.length > 0 ? industries : undefined,
      ...Object.fromEntries(
        Object.entries(COUNTS).map(([name, theirs]) => [name, count(info[theirs])]),
      ),
    };
    return Object.fromEntries(
      Object.entries(facts).filter(([, value]) => value !== undefined),
    );
  }

  /**
   * @param {any} answer
   * @param {string} accountId the encrypted id that was asked for
   * @returns {BrightFacts | null} null: it says nothing, or not of whom
   */
  function read(answer, accountId) {
    const info = answer?.data?.data?.buyerInfo;
    if (!isObject(info)) return null;
    const named = info.encryptAccountId;
    // Answers come in any order: another one's must not become this one's.
    if (named !== undefined && named !== null && named !== accountId) return null;
    const facts = factsOf(info);
    const conversationId = bright.adapters.conversationLists.ofAccount(accountId);
    if (conversationId === undefined || Object.keys(facts).length === 0) return null;
    return { conversationId, facts };
  }

  /**
   * @param {HTMLScriptElement} script not answered yet
   * @param {(facts: BrightFacts) => void} onFacts
   */
  function listen(script, onFacts) {
    const url = new URL(script.src, location.href);
    if (url.pathname !== PATH) return;
    const accountId = url.searchParams.get("buyerAccountId") ?? "";
    const name = url.searchParams.get("callback") ?? "";
    const page = /** @type {any} */ (window);
    if (accountId === "" || typeof page[name] !== "function") return;
    page[name] = new Proxy(page[name], {
      apply(target, self, args) {
        try {
          const found = read(args[0], accountId);
          if (found !== null) onFacts(found);
        } catch {
          // Whatever passes by here, the page must get its answer.
        }
        return Reflect.apply(target, self, args);
      },
    });
  }

  bright.adapters.customerCard = {
    read,
    watch(onFacts) {
      const look = (/** @type {MutationRecord[]} */ changes) => {
        for (const node of changes.flatMap((each) => Array.from(each.addedNodes))) {
          if (node instanceof HTMLScriptElement && node.src) listen(node, onFacts);
        }
      };
      new MutationObserver(look).observe(document, { childList: true, subtree: true });
    },
  };
})();
