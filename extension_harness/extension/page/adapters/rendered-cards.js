// Surface: cards as the page draws them. Their texts come after the message, from a call of
// the page's own; whose they are says the message's row, seen before on another surface, and
// never the header over them: right after a click the rows before stand under it still.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];

  const CARDS = ".message-item-wrapper .session-rich-content.card";
  const MAX_CARDS = 200;
  const MAX_LINES = 20;
  const MAX_REMEMBERED = 5_000;
  /** A card counts once it reads the same twice, so far apart. */
  const SETTLE_MS = 250;
  /** Of the others, one is a person's own card, of which nothing is read (OT-86). */
  const KINDS = new Set([
    "inquiry",
    "product_card",
    "order_card",
    "quote_card",
    "address_card",
  ]);

  /** @type {Map<string, {conversationId: string, sentAtMs: number, cardKind: string}>} */
  const rows = new Map();
  /** @type {Map<string, string>} content by message, as last read and as told */
  const read = new Map();
  /** @type {Map<string, string>} */
  const told = new Map();

  /**
   * @template T
   * @param {Map<string, T>} map
   * @param {string} key
   * @param {T} value
   */
  function put(map, key, value) {
    map.delete(key);
    map.set(key, value);
    if (map.size <= MAX_REMEMBERED) return;
    map.delete(/** @type {string} */ (map.keys().next().value));
  }

  /** @param {any} row */
  function remember(row) {
    const { conversationId, kind, messageId, sentAtMs } = row ?? {};
    if (!KINDS.has(kind) || typeof messageId !== "string") return;
    if (typeof conversationId !== "string" || typeof sentAtMs !== "number") return;
    put(rows, messageId, { conversationId, sentAtMs, cardKind: kind });
  }

  /** @param {Element} card */
  function messageOf(card) {
    const item = /** @type {HTMLElement} */ (card.closest(".message-item-wrapper"));
    try {
      return bright.fields.messageId(
        JSON.parse(item.dataset.expinfo ?? "{}").messageId,
      );
    } catch {
      return undefined;
    }
  }

  /** @param {Element | null} element */
  function textOf(element) {
    return bright.text.storable(element?.textContent?.trim() ?? "");
  }

  /** @param {Element} card */
  function contentOf(card) {
    const title = textOf(card.querySelector(".card-title"));
    const lines = Array.from(card.querySelectorAll(".card-line"), textOf);
    return { title, lines: lines.filter(Boolean).slice(0, MAX_LINES) };
  }

  /** @returns {{cards: BrightCard[], isSettled: boolean}} what is new since the last look */
  function look() {
    /** @type {BrightCard[]} */
    const cards = [];
    let isSettled = true;
    for (const card of Array.from(
      document.querySelectorAll(CARDS),
      (each) => each,
    ).slice(-MAX_CARDS)) {
      const messageId = messageOf(card);
      const row = messageId === undefined ? undefined : rows.get(messageId);
      const content = contentOf(card);
      if (messageId === undefined || row === undefined || content.title === "")
        continue;
      const text = JSON.stringify(content);
      if (told.get(messageId) === text) continue;
      if (read.get(messageId) === text) {
        put(told, messageId, text);
        cards.push({ messageId, ...row, content });
      } else {
        put(read, messageId, text);
        isSettled = false;
      }
    }
    return { cards, isSettled };
  }

  bright.adapters.renderedCards = {
    remember(asked, observed) {
      for (const row of observed) {
        const isForeign = asked !== null && row.conversationId !== asked;
        if (!isForeign) remember(row);
      }
    },
    look,
    watch(onCards) {
      let isDue = false;
      const due = () => {
        if (isDue) return;
        isDue = true;
        setTimeout(() => {
          isDue = false;
          const { cards, isSettled } = look();
          if (cards.length > 0) onCards(cards);
          if (!isSettled) due();
        }, SETTLE_MS);
      };
      const options = { childList: true, characterData: true, subtree: true };
      new MutationObserver(due).observe(document, options);
    },
  };
})();
