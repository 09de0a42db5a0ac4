// One row of any surface into one observation in the normal form. A surface says where it
// keeps what; everything that is the same on all of them is here.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { isObject, first, messageId, conversationId, personId, timeMs } =
    bright.fields;

  /** Ids that speak for the seller: the account's own and its sub-accounts'. */
  const ownIds = new Set();
  /** @type {string | undefined} whose page it was when it said so last */
  let whose;

  /** @returns {string | undefined} */
  function account() {
    const now = personId(/** @type {any} */ (window).aliId);
    if (now === undefined || now === whose) return now;
    // Nobody who spoke for another account speaks for this one.
    if (whose !== undefined) ownIds.clear();
    whose = now;
    return now;
  }

  /** @param {unknown} value */
  function rememberOwn(value) {
    const id = personId(value);
    if (id !== undefined && ownIds.size < 1_000) ownIds.add(id);
  }

  /** @param {string} id */
  function isOwn(id) {
    return id === account() || ownIds.has(id);
  }

  /**
   * @param {any} row
   * @returns {Record<string, any>} the row's extension, opened; {} when it is malformed
   */
  function extensionOf(row) {
    const extension = bright.content.opened(row?.extension);
    return isObject(extension) ? extension : {};
  }

  /**
   * @param {unknown} value
   * @param {boolean} html
   */
  function textOf(value, html) {
    const plain = isObject(value) ? first(value.text, value.content) : value;
    if (plain === undefined || plain === null) return "";
    const text = String(plain);
    return html ? bright.text.fromHtml(text) : bright.text.storable(text);
  }

  /**
   * @param {unknown} value object or JSON text
   * @param {boolean} html
   */
  function quoteOf(value, html) {
    const quote = bright.content.opened(value);
    if (!isObject(quote)) return undefined;
    const id = messageId(first(quote.messageId, quote.msgId));
    if (id === undefined) return undefined;
    const text = first(quote.content, quote.contentDisplay);
    return text === undefined
      ? { messageId: id }
      : { messageId: id, text: textOf(text, html) };
  }

  /**
   * @param {any} row
   * @param {BrightSurface} surface
   */
  function kindAndContent(row, surface) {
    const numbers = surface.kindNumbers(row);
    const byNumber = bright.content.kindOf(numbers, row.cardType);
    if (byNumber === "text" || byNumber === "system") {
      return { kind: byNumber, text: textOf(surface.text(row), surface.html) };
    }
    const body = surface.body(row);
    const inner = bright.content.opened(body);
    const cardType = first(row.cardType, isObject(inner) ? inner.cardType : undefined);
    const kind = bright.content.kindOf(numbers, cardType);
    if (kind === "unknown" && isSystem(row, numbers, cardType)) {
      return { kind: "system", text: textOf(surface.text(row), surface.html) };
    }
    return { kind, content: bright.content.kept(kind, body) };
  }

  /**
   * @param {any} row
   * @param {unknown[]} numbers
   * @param {unknown} cardType
   */
  function isSystem(row, numbers, cardType) {
    return first(cardType, ...numbers) === undefined && Number(row.type) === 2;
  }

  /**
   * @param {any} row
   * @param {BrightSurface} surface
   */
  function rawOf(row, surface) {
    const info = extensionOf(row).basicMessageInfo;
    const basic = bright.content.opened(info);
    const flags = isObject(basic) ? basic : {};
    return {
      surface: surface.surface,
      autoReply: String(first(row.autoReply, flags.autoReply)) === "true" || undefined,
      systemMessage:
        String(first(row.systemMessage, flags.systemMessage)) === "true" || undefined,
    };
  }

  /**
   * @param {unknown} row
   * @param {BrightSurface} surface
   * @param {{conversationId?: string, outbound?: boolean}} [asked]
   * @returns {BrightObservation}
   */
  function observe(row, surface, asked = {}) {
    if (!isObject(row)) {
      return {
        surface: surface.surface,
        conversationId: asked.conversationId,
        notAnObject: row === undefined ? "undefined" : row,
      };
    }
    const seen = identityOf(row, surface, asked);
    const id = /** @type {string | undefined} */ (seen.messageId);
    if (surface.recalled(row)) {
      seen.kind = "recall";
      if (id !== undefined) {
        seen.messageId = `${id}:recall`;
        seen.recall = { messageId: id };
      }
    } else {
      Object.assign(seen, kindAndContent(row, surface));
      const quote = quoteOf(surface.quote(row), surface.html);
      if (quote) seen.quote = quote;
    }
    const isWhole = [id, seen.senderId, seen.sentAtMs].every(
      (each) => each !== undefined,
    );
    // Of a row that cannot be a fact everything is worth keeping; redacted before the write.
    seen.raw = isWhole ? rawOf(row, surface) : { surface: surface.surface, row };
    return seen;
  }

  /**
   * @param {any} row
   * @param {BrightSurface} surface
   * @param {{conversationId?: string, outbound?: boolean}} asked
   * @returns {BrightObservation}
   */
  function identityOf(row, surface, asked) {
    const senderId = personId(surface.sender(row));
    const isOutbound =
      asked.outbound ||
      surface.saysOutbound(row) ||
      (senderId !== undefined && isOwn(senderId));
    return {
      surface: surface.surface,
      messageId: messageId(surface.id(row)),
      conversationId: conversationId(surface.conversation(row)) ?? asked.conversationId,
      senderId,
      direction: isOutbound ? "outbound" : "inbound",
      sentAtMs: timeMs(surface.time(row)),
    };
  }

  bright.messages = {
    ownIds,
    account,
    isOwn,
    rememberOwn,
    observe,
    extensionOf,
  };
})();
