// Kinds of messages, and what is kept of the content of those that are no texts.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { isObject, number } = bright.fields;

  /** @type {Record<string, string>} */
  const KINDS = {
    1: "text",
    101: "text",
    text: "text",
    60: "image",
    53: "file",
    61: "file",
    62: "video",
    57: "business_card",
    50: "inquiry",
    63: "inquiry",
    2000: "product_card",
    2028: "quote_card",
    2098: "quote_card",
    2013: "address_card",
    9999: "system",
  };

  /** @type {Record<string, string>} */
  const CARDS = {
    1: "business_card",
    23: "business_card",
    3: "product_card",
    2000: "product_card",
    6: "inquiry",
    9: "order_card",
    12: "file",
  };

  /** @type {Record<string, string[]>} */
  const KEPT = {
    image: ["url", "width", "height", "size"],
    file: ["name", "size", "url"],
    video: ["url"],
    inquiry: ["fbType", "source"],
    order_card: ["orderId", "orderAmount", "currency"],
    quote_card: ["quoteProductId", "quoId"],
    address_card: [
      "contactName",
      "companyAddress",
      "companyTel",
      "zipCode",
      "countryCode",
    ],
  };

  /**
   * JSON texts opened, at most twice; what does not parse stays what it is.
   *
   * @param {unknown} value
   * @returns {unknown}
   */
  function opened(value) {
    let inner = value;
    for (let depth = 0; depth < 2 && typeof inner === "string"; depth += 1) {
      try {
        inner = JSON.parse(inner);
      } catch {
        break;
      }
    }
    return inner;
  }

  /**
   * @param {unknown[]} numbers the page's numbers for the row, the telling one first
   * @param {unknown} cardType
   */
  function kindOf(numbers, cardType) {
    const card = CARDS[String(number(cardType))];
    if (card !== undefined) return card;
    for (const each of numbers) {
      if (each === undefined || each === null || each === "") continue;
      const kind = KINDS[String(number(each) ?? each)];
      if (kind !== undefined) return kind;
    }
    return "unknown";
  }

  /** @param {unknown} value base64 of a JSON object */
  function decoded(value) {
    try {
      const bytes = Uint8Array.from(atob(String(value)), (each) => each.charCodeAt(0));
      const inner = JSON.parse(new TextDecoder().decode(bytes));
      return isObject(inner) ? inner : {};
    } catch {
      return {};
    }
  }

  /** @param {unknown} value */
  function address(value) {
    if (typeof value !== "string") return value;
    return (value.startsWith("//") ? `https:${value}` : value).split("?")[0];
  }

  /** @param {Record<string, any>[]} places */
  function productIds(places) {
    for (const place of places) {
      if ("ids" in place) {
        const ids = String(place.ids).split(",");
        return { ids: ids.map((id) => id.trim()) };
      }
      if ("id" in place) return { ids: [String(place.id)] };
    }
    return {};
  }

  /**
   * The content of a message that is neither text, system nor recall.
   *
   * @param {string} kind
   * @param {unknown} body
   * @returns {Record<string, unknown>}
   */
  function kept(kind, body) {
    if (kind === "business_card") return { version: 1, kind: "business_card" }; // OT-86
    const whole = opened(body);
    if (whole === undefined || whole === null || whole === "") return {};
    if (!isObject(whole)) {
      const text = typeof whole === "string" ? whole : JSON.stringify(whole);
      return { text: bright.text.storable(text) };
    }
    const copy = { ...whole };
    if ("params" in copy) copy.params = opened(copy.params);
    const content = kind === "unknown" ? copy : keptFields(kind, copy);
    return /** @type {Record<string, unknown>} */ (bright.text.deepStorable(content));
  }

  /**
   * @param {string} kind
   * @param {Record<string, any>} body
   */
  function keptFields(kind, body) {
    /** @type {Record<string, any>[]} */
    const places = isObject(body.params) ? [body.params, body] : [body];
    if (kind === "order_card" && isObject(body.params)) {
      places.push(decoded(body.params.params));
    }
    if (kind === "product_card") return productIds(places);
    /** @type {Record<string, unknown>} */
    const content = {};
    for (const key of KEPT[kind] ?? []) {
      const place = places.find((each) => key in each);
      if (place) content[key] = key === "url" ? address(place[key]) : place[key];
    }
    return content;
  }

  bright.content = { opened, kindOf, kept };
})();
