// The identity fields of the normal form out of the page's many spellings.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];

  /** Below this a time is in seconds. */
  const SECONDS_BELOW = 1e11;
  const ISO_WITH_ZONE =
    /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})$/i;

  /**
   * @param {unknown} value
   * @returns {value is Record<string, any>}
   */
  function isObject(value) {
    return value !== null && typeof value === "object" && !Array.isArray(value);
  }

  /** @param {unknown[]} values */
  function first(...values) {
    return values.find(
      (value) => value !== undefined && value !== null && value !== "",
    );
  }

  /**
   * @param {unknown} value
   * @returns {string | undefined} a string or a whole number as text
   */
  function idText(value) {
    if (typeof value === "number" && Number.isFinite(value)) return String(value);
    if (typeof value === "bigint") return String(value);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** @param {unknown} value */
  function messageId(value) {
    return idText(value)?.replace(/\.PNM$/, "") || undefined;
  }

  /** @param {unknown} value */
  function conversationId(value) {
    const text = idText(value);
    const parts = /^(\d+)-(\d+)(#[^@]*)?(?:@icbu)?$/.exec(text ?? "");
    if (parts === null) return text;
    const pair = [parts[1], parts[2]];
    if (BigInt(pair[0]) > BigInt(pair[1])) pair.reverse();
    return `${pair[0]}-${pair[1]}${parts[3] ?? "#11011"}@icbu`;
  }

  /**
   * @param {unknown} value a number, a string, or `{targetId}`, `{uid}`, `{aliId}`
   * @returns {string | undefined}
   */
  function personId(value) {
    const plain = isObject(value)
      ? first(value.targetId, value.uid, value.aliId)
      : value;
    return idText(plain)?.replace(/@icbu$/, "") || undefined;
  }

  /**
   * @param {unknown} value ms or s as number or digits, or ISO 8601 with a zone
   * @returns {number | undefined} undefined for what is no time
   */
  function timeMs(value) {
    if (typeof value === "string") {
      const text = value.trim();
      if (/^\d+(\.\d+)?$/.test(text)) return timeMs(Number(text));
      if (!ISO_WITH_ZONE.test(text)) return undefined;
      const parsed = Date.parse(text.replace(" ", "T"));
      return parsed > 0 ? parsed : undefined;
    }
    if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
      return undefined;
    }
    return Math.round(value < SECONDS_BELOW ? value * 1_000 : value);
  }

  /**
   * @param {unknown} value
   * @returns {number | undefined} numbers and digit strings alike
   */
  function number(value) {
    if (typeof value === "number") return value;
    return typeof value === "string" && /^\d+$/.test(value) ? Number(value) : undefined;
  }

  bright.fields = {
    isObject,
    first,
    messageId,
    conversationId,
    personId,
    timeMs,
    number,
  };
})();
