// Texts of the page into storable plain text (docs/normal-form.md, "Text").

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];

  /** @type {Record<string, string>} */
  const ENTITIES = {
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: "\u00a0",
    copy: "\u00a9",
    reg: "\u00ae",
    trade: "\u2122",
    euro: "\u20ac",
    pound: "\u00a3",
    yen: "\u00a5",
    cent: "\u00a2",
    hellip: "\u2026",
    mdash: "\u2014",
    ndash: "\u2013",
    lsquo: "\u2018",
    rsquo: "\u2019",
    ldquo: "\u201c",
    rdquo: "\u201d",
    bull: "\u2022",
    middot: "\u00b7",
    times: "\u00d7",
    deg: "\u00b0",
  };

  /**
   * Rule 2: no lone surrogate, no NUL, one kind of line end; nothing else changes.
   *
   * @param {string} text
   */
  function storable(text) {
    return text.toWellFormed().replaceAll("\0", "\ufffd").replaceAll("\r\n", "\n");
  }

  /**
   * @param {string} whole
   * @param {string} name
   */
  function entity(whole, name) {
    if (name[0] !== "#") return ENTITIES[name] ?? whole;
    const hexadecimal = name[1] === "x" || name[1] === "X";
    const code = parseInt(name.slice(hexadecimal ? 2 : 1), hexadecimal ? 16 : 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
  }

  /** @param {string} tag */
  function imageName(tag) {
    const source = /\ssrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(tag);
    const address = source?.[1] ?? source?.[2] ?? source?.[3] ?? "";
    if (!address.includes("smily")) return "";
    const file = address.split(/[?#]/)[0].split("/").pop() ?? "";
    return `:${file.replace(/\.[^.]*$/, "")}:`;
  }

  /**
   * Rule 1, then rule 2: the text that a surface's HTML shows.
   *
   * @param {string} html
   */
  function fromHtml(html) {
    const plain = html
      .replace(/<br\s*\/?>/gi, "\n")
      .replace(/<img\b[^>]*>/gi, imageName)
      .replace(/<\/?[a-z][^>]*>/gi, "")
      .replace(/&(#x[0-9a-f]+|#[0-9]+|[a-z]+[0-9]*);/gi, entity);
    return storable(plain);
  }

  /**
   * @param {unknown} value
   * @returns {unknown} a JSON value with rule 2 applied to every string in it
   */
  function deepStorable(value) {
    if (typeof value === "string") return storable(value);
    if (Array.isArray(value)) return value.map(deepStorable);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [storable(key), deepStorable(inner)]),
    );
  }

  bright.text = { storable, fromHtml, deepStorable };
})();
