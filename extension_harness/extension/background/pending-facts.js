// Where buyer facts wait for Bright: their store has no index, so they are found by the keys
// of the account's checkpoints, a page at a time, once on each connection; what is observed
// meanwhile is added, and so is what gets a checkpoint meanwhile: facts of a conversation
// without one wait until then.

import { conversationKey } from "../shared/keys.js";
import { readBuyerFacts } from "../store/buyer-facts.js";
import { checkpointsOf } from "../store/checkpoints.js";

/** Conversations remembered beside those of one page; more are looked for again. */
const MAX_KNOWN = 1_000;
/** Conversations that were met meanwhile, looked at in one step. */
const MET_PAGE = 200;

/** @typedef {import("../shared/records.js").BuyerFactsRecord} BuyerFactsRecord */
/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */

/**
 * @typedef {object} Search of one account
 * @property {Set<string>} known conversations whose facts may be pending
 * @property {string[]} met conversations that have a checkpoint only since the search began
 * @property {AsyncGenerator<CheckpointRecord[]> | null} pages null: all were looked at
 * @property {Promise<unknown>} turn one look at a time
 */

export class PendingFacts {
  /** @type {Map<string, Search>} */
  #searches = new Map();
  #database;

  /** @param {import("../store/database.js").Database} database */
  constructor(database) {
    this.#database = database;
  }

  /** Looks at every checkpoint again. */
  reset() {
    this.#searches.clear();
  }

  /**
   * @param {string} account
   * @param {string} conversation whose facts were recorded just now
   */
  observed(account, conversation) {
    const search = this.#of(account);
    search.known.add(conversation);
    if (search.known.size > MAX_KNOWN) this.#searches.delete(account);
  }

  /**
   * @param {string} account
   * @param {string[]} conversations that have a checkpoint only now
   */
  met(account, conversations) {
    const search = this.#searches.get(account);
    if (search === undefined) return; // one that begins later finds them
    search.met.push(...conversations);
    if (search.met.length > MAX_KNOWN) this.#searches.delete(account);
  }

  /**
   * @param {string} account
   * @returns {Promise<BuyerFactsRecord | null>} one that Bright does not have
   * @throws {import("../shared/errors.js").StoreError}
   */
  first(account) {
    const search = this.#of(account);
    const look = search.turn.then(() => this.#look(account, search));
    search.turn = look.catch(() => {});
    return look;
  }

  /** @param {string} account */
  #of(account) {
    const before = this.#searches.get(account);
    if (before !== undefined) return before;
    /** @type {Search} */
    const search = {
      known: new Set(),
      met: [],
      pages: checkpointsOf(this.#database, account),
      turn: Promise.resolve(),
    };
    this.#searches.set(account, search);
    return search;
  }

  /**
   * @param {string} account
   * @param {Search} search
   * @returns {Promise<BuyerFactsRecord | null>}
   */
  async #look(account, search) {
    for (;;) {
      for (const conversation of search.known) {
        search.known.delete(conversation); // before the read: it may be observed meanwhile
        const key = conversationKey(account, conversation);
        const [record] = await readBuyerFacts(this.#database, [key]);
        if (!isPending(record)) continue;
        search.known.add(conversation);
        return record;
      }
      if (search.pages === null && search.met.length === 0) return null;
      try {
        await this.#more(account, search);
      } catch (error) {
        this.reset(); // a generator that failed is at its end: the next search begins anew
        throw error;
      }
    }
  }

  /**
   * @param {string} account
   * @param {Search} search
   */
  async #more(account, search) {
    const met = search.met.splice(0, MET_PAGE);
    let keys = met.map((conversation) => conversationKey(account, conversation));
    if (keys.length === 0) {
      const page = await search.pages?.next();
      if (page === undefined || page.done) {
        search.pages = null;
        return;
      }
      keys = page.value.map(({ key }) => key);
    }
    for (const record of await readBuyerFacts(this.#database, keys)) {
      if (isPending(record)) search.known.add(record.conversationId);
    }
  }
}

/**
 * @param {BuyerFactsRecord | undefined} record
 * @returns {record is BuyerFactsRecord}
 */
function isPending(record) {
  return record !== undefined && record.uploadedFingerprint !== record.fingerprint;
}
