// What a row of a conversation list says of the contact, cleaned: known fields alone, in
// plain text, bounded. Encrypted ids and tokens are no part of it, placeholders are nothing.

(() => {
  "use strict";

  /** @type {BrightPage} */
  const bright = /** @type {any} */ (window)[Symbol.for("bright.page")];
  const { isObject } = bright.fields;

  const MAX_TEXT = 200;
  const MAX_ADDRESS = 500;
  /** What the page writes where there is nothing; letters only, small. */
  const NOTHING = new Set(["", "null", "undefined", "unknown"]);
  /** The same for companies: people are asked for one and have none. */
  const NO_COMPANY = new Set([
    ...NOTHING,
    "na",
    "no",
    "none",
    "nocompany",
    "nocompanyname",
    "allcompanies",
    "pasdentreprise",
  ]);

  /**
   * @param {unknown} value
   * @param {Set<string>} nothing
   * @returns {string | undefined}
   */
  function textOf(value, nothing) {
    if (typeof value !== "string") return undefined;
    const text = bright.text.fromHtml(value).trim();
    const letters = text.toLowerCase().replace(/[\s\p{P}\p{S}]/gu, "");
    return nothing.has(letters) ? undefined : text.slice(0, MAX_TEXT).toWellFormed();
  }

  /** @param {unknown} value */
  const plain = (value) => textOf(value, NOTHING);
  /** @param {unknown} value */
  const company = (value) => textOf(value, NO_COMPANY);

  /** @param {unknown} value two letters, as ISO 3166 has them */
  function country(value) {
    const text = plain(value)?.toUpperCase();
    return text !== undefined && /^[A-Z]{2}$/.test(text) ? text : undefined;
  }

  /** @param {unknown} value */
  function level(value) {
    return typeof value === "string" && /^L\d$/.test(value) ? value : undefined;
  }

  /** @param {unknown} value an address; what comes after `?` may be a signature */
  function portrait(value) {
    if (typeof value !== "string") return undefined;
    const whole = (value.startsWith("//") ? `https:${value}` : value).split(/[?#]/)[0];
    const isAddress = /^https:\/\/[^\s/]+\/\S+$/.test(whole);
    return isAddress && whole.length <= MAX_ADDRESS ? whole : undefined;
  }

  /** @type {Record<keyof BrightProfile, (row: any, contact: any) => (string | undefined)[]>} */
  const FIELDS = {
    name: (row, contact) =>
      [contact.name, row.name, row.contactNick, row.buyerName].map(plain),
    companyName: (row, contact) => [contact.companyName, row.companyName].map(company),
    loginId: (row, contact) =>
      [contact.loginId, row.loginId, row.contactLoginId].map(plain),
    country: (row, contact) =>
      [
        contact.complianceCountryCode,
        contact.countryCode,
        contact.country,
        row.country,
      ].map(country),
    level: (row, contact) => [contact.userNewLevel, row.contactLevel].map(level),
    portrait: (row, contact) => [contact.fullPortrait, row.fullPortrait].map(portrait),
  };

  /**
   * Whether a row has its contact in full. The other lists know a name at most, which may
   * be as old as the page's HTML.
   *
   * @param {any} contact
   */
  function isDetailed(contact) {
    return isObject(contact) && "name" in contact && "aliId" in contact;
  }

  /**
   * @param {any} row
   * @param {any} contact the row's own, or {}
   * @param {BrightProfile} [before] what other rows said of the same contact
   * @returns {BrightProfile}
   */
  function read(row, contact, before = {}) {
    /** @type {BrightProfile} */
    const profile = {};
    for (const [field, spellings] of Object.entries(FIELDS)) {
      const name = /** @type {keyof BrightProfile} */ (field);
      const said = spellings(row, contact).find((value) => value !== undefined);
      const value = isDetailed(contact)
        ? (said ?? before[name])
        : (before[name] ?? said);
      if (value !== undefined) profile[name] = value;
    }
    return profile;
  }

  bright.profiles = { read, isDetailed };
})();
