// What a page knows of a buyer, into its ledger: known facts alone, bounded, in a
// transaction of their own. How to reach the buyer is no part of it.

import { digestOf } from "../shared/normal-form.js";
import { redact } from "../shared/redaction.js";
import { recordBuyerFacts } from "../store/buyer-facts.js";
import { writtenApart } from "./ledger-writes.js";

const TEXTS = ["country", "level", "qualityTag"];
const NUMBERS = [
  "registeredAtMs",
  "productViewCount",
  "validInquiryCount",
  "repliedInquiryCount",
  "validRfqCount",
  "loginDays",
  "spamMarkCount",
  "blockListCount",
  "orderCount",
  "orderVolume",
  "tradeSupplierCount",
];
const MAX_ENTRIES = 50;
const MAX_ID = 256;
const MAX_TEXT = 200;
const MAX_INDUSTRIES = 20;

/**
 * Records facts of buyers; when this returns, they are on disk.
 *
 * @param {import("../store/database.js").Database} database
 * @param {string} channelAccountId
 * @param {unknown} entries the page's word: `{conversationId, facts}` each; what is none is
 *     passed over
 * @param {number} observedAtMs
 * @returns {Promise<string[]>} the conversations whose facts were taken
 * @throws {import("../shared/errors.js").StoreError} `facts_not_recorded`, or what the
 *     whole store suffers from
 */
export function recordFacts(database, channelAccountId, entries, observedAtMs) {
  const said = Array.isArray(entries) ? entries.slice(0, MAX_ENTRIES) : [];
  return writtenApart("facts_not_recorded", "Facts of buyers", async () => {
    /** @type {string[]} */
    const taken = [];
    for (const { conversationId, facts: all } of said.filter(isNamed)) {
      const facts = factsOf(all);
      if (Object.keys(facts).length === 0) continue;
      const fingerprint = await digestOf(facts);
      const scope = { channelAccountId, conversationId };
      const observed = { ...scope, facts, fingerprint, observedAtMs };
      if (await recordBuyerFacts(database, observed)) taken.push(conversationId);
    }
    return taken;
  });
}

/** @param {any} entry */
function isNamed(entry) {
  const id = entry?.conversationId;
  return typeof id === "string" && id !== "" && id.length <= MAX_ID;
}

/**
 * @param {any} said
 * @returns {Record<string, unknown>}
 */
function factsOf(said) {
  /** @type {Record<string, unknown>} */
  const facts = {};
  for (const name of TEXTS) {
    if (isText(said?.[name])) facts[name] = bounded(said[name]);
  }
  for (const name of NUMBERS) {
    if (Number.isFinite(said?.[name]) && said[name] >= 0) facts[name] = said[name];
  }
  const industries = said?.industries;
  if (Array.isArray(industries)) {
    const texts = industries.filter(isText).slice(0, MAX_INDUSTRIES).map(bounded);
    if (texts.length > 0) facts.industries = texts;
  }
  return redact(facts);
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === "string" && value !== "";
}

/** @param {string} text */
function bounded(text) {
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll("\0", "\ufffd");
}
