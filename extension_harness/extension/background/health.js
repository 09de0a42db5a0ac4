// What is wrong with the OneTalk tabs that are open: what their pages say of themselves,
// and what this worker finds when it asks them. A memory of this worker's life, as the
// list of pages is; Bright is told each change, and again on each connection (OT-63).

/** @typedef {import("./pages.js").Page} Page */

/**
 * @typedef {object} Patient
 * @property {string} pageId
 * @property {string | null} channelAccountId null: nobody knows whose page it is
 * @property {string[]} told what the page says of itself
 * @property {Set<string>} found what was found by asking it
 */

/**
 * @typedef {object} Condition
 * @property {string} pageId
 * @property {string | null} channelAccountId
 * @property {string[]} troubles
 */

/** The worker finds these; a good answer of the page ends them. */
const SILENT = "page_silent";
const DEAD = "page_dead";
const UNREACHED = "needs_reload";
/** While one of these lasts, asking on would only do harm. */
export const CLOSED_DOORS = ["login_lost", "captcha"];
/** While one of these lasts, a page may see nothing of what is said. */
const BLIND = ["disconnected", SILENT];
const MAX_TROUBLES = 16;

export class Health {
  /** @type {Map<number, Patient>} by tab */
  #tabs = new Map();
  #parts;

  /**
   * @param {object} parts
   * @param {{send: (frame: object) => boolean,
   *     welcome: {accounts: string[]} | null}} parts.connection
   * @param {(account: string, wasBlind: boolean) => void} parts.recovered a page is well
   *     again; it may have seen nothing of what was said meanwhile
   * @param {() => void} parts.changed there is something else to show
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @returns {number[]} the tabs that something is known of */
  get tabs() {
    return Array.from(this.#tabs.keys());
  }

  /** @returns {Condition[]} the tabs that something is wrong with */
  get troubled() {
    return Array.from(this.#tabs.values(), conditionOf).filter(isTroubled);
  }

  /**
   * @param {number} tabId
   * @returns {string[]}
   */
  of(tabId) {
    return troublesOf(this.#tabs.get(tabId));
  }

  /**
   * @param {number} tabId
   * @returns {boolean} its page lets nobody in: each further question is one too many
   */
  isClosed(tabId) {
    return this.of(tabId).some((trouble) => CLOSED_DOORS.includes(trouble));
  }

  /**
   * @param {number} tabId
   * @returns {boolean} nothing that its page is asked for will come
   */
  isOut(tabId) {
    const deaf = [SILENT, DEAD, UNREACHED];
    return this.isClosed(tabId) || this.of(tabId).some((each) => deaf.includes(each));
  }

  /**
   * A page is in its tab: whatever stood here of another one is over.
   *
   * @param {Page} page
   * @param {Page} [before] the one that was known in the tab
   */
  opened(page, before) {
    const { tabId, pageId, channelAccountId } = page;
    const patient = this.#tabs.get(tabId);
    if ((patient ?? before ?? page).pageId !== pageId) this.closed(tabId, before);
    else if (patient !== undefined && patient.channelAccountId !== channelAccountId) {
      this.#tabs.set(tabId, { ...patient, channelAccountId });
      const { troubles } = conditionOf({ ...patient, channelAccountId });
      if (troubles.length > 0) this.#tell(page, troubles, true);
    }
  }

  /**
   * A page says all that is wrong with it.
   *
   * @param {number} tabId
   * @param {{pageId: string, channelAccountId: string | null}} page
   * @param {unknown} troubles
   */
  told(tabId, { pageId, channelAccountId }, troubles) {
    const words = Array.isArray(troubles) ? troubles.filter(isWord) : [];
    this.#change(tabId, (before) => ({
      pageId,
      channelAccountId,
      told: words.slice(0, MAX_TROUBLES - 3),
      // It speaks: whatever stood here of another page, or of none, is over.
      found: new Set(before?.pageId === pageId && before.found.has(DEAD) ? [DEAD] : []),
    }));
  }

  /**
   * A page answered, and not with nothing.
   *
   * @param {Page} page
   */
  answered({ tabId, pageId }) {
    this.#without(tabId, pageId, [SILENT, UNREACHED]);
  }

  /** @param {Page} page that showed what a dead one would not */
  lives({ tabId, pageId }) {
    this.#without(tabId, pageId, [DEAD, SILENT, UNREACHED]);
  }

  /** @param {Page} page that showed nothing where its own list told of something */
  lied(page) {
    this.#with(page.tabId, page, DEAD);
  }

  /** @param {number} tabId whose page nobody knows, and that gave no answer */
  unanswered(tabId) {
    const unknown = { pageId: `tab-${tabId}`, channelAccountId: null };
    this.#with(tabId, this.#tabs.get(tabId) ?? unknown, SILENT);
  }

  /** @param {Page} page that was asked and did not answer in time */
  silent(page) {
    this.#with(page.tabId, page, SILENT);
  }

  /**
   * A OneTalk tab in which nobody listens: its content script is of an extension that was
   * updated meanwhile, or was never there.
   *
   * @param {number} tabId
   */
  unreached(tabId) {
    const pageId = `tab-${tabId}`;
    this.#with(tabId, { pageId, channelAccountId: null }, UNREACHED);
  }

  /**
   * The tab is gone, or shows another site.
   *
   * @param {number} tabId
   * @param {Page} [page] the one that was known in it
   */
  closed(tabId, page) {
    const patient = this.#tabs.get(tabId);
    this.#tabs.delete(tabId);
    const gone = page ?? patient;
    if (gone !== undefined) this.#tell(gone, [], false);
    if (patient !== undefined) this.#parts.changed();
  }

  /** Bright has welcomed us: what is wrong now (OT-63). */
  tellAll() {
    for (const condition of this.troubled) {
      this.#tell(condition, condition.troubles, true);
    }
  }

  /**
   * @param {number} tabId
   * @param {{pageId: string, channelAccountId: string | null}} page
   * @param {string} trouble
   */
  #with(tabId, { pageId, channelAccountId }, trouble) {
    this.#change(tabId, (before) => {
      const isSame = before?.pageId === pageId;
      const found = new Set(isSame ? before.found : []);
      const told = isSame ? before.told : [];
      return { pageId, channelAccountId, told, found: found.add(trouble) };
    });
  }

  /**
   * @param {number} tabId
   * @param {string} pageId
   * @param {string[]} troubles
   */
  #without(tabId, pageId, troubles) {
    const patient = this.#tabs.get(tabId);
    if (patient === undefined) return;
    if (
      patient.pageId === pageId &&
      !troubles.some((each) => patient.found.has(each))
    ) {
      return;
    }
    this.#change(tabId, (before) => {
      if (before === undefined || before.pageId !== pageId) return undefined;
      const found = [...before.found].filter((each) => !troubles.includes(each));
      return { ...before, found: new Set(found) };
    });
  }

  /**
   * @param {number} tabId
   * @param {(before: Patient | undefined) => Patient | undefined} change
   */
  #change(tabId, change) {
    const before = this.#tabs.get(tabId);
    const after = change(before);
    if (after === undefined) this.#tabs.delete(tabId);
    else this.#tabs.set(tabId, after);
    const isSame = before?.pageId === after?.pageId;
    if (before !== undefined && !isSame) this.#tell(before, [], false);
    const was = troublesOf(before);
    const now = troublesOf(after);
    if (now.join() === was.join() && (isSame || now.length === 0)) return;
    if (after !== undefined) this.#tell(after, now, true);
    this.#parts.changed();
    const ended = was.filter((each) => !now.includes(each));
    const account = after?.channelAccountId ?? null;
    if (ended.length === 0 || account === null) return;
    this.#parts.recovered(
      account,
      ended.some((each) => BLIND.includes(each)),
    );
  }

  /**
   * @param {{pageId: string, channelAccountId: string | null}} page
   * @param {string[]} troubles
   * @param {boolean} isOpen
   */
  #tell({ pageId, channelAccountId }, troubles, isOpen) {
    const { connection } = this.#parts;
    const held = connection.welcome?.accounts;
    // Of an account that Bright does not take for us, nothing is told.
    if (held === undefined) return;
    if (channelAccountId !== null && !held.includes(channelAccountId)) return;
    connection.send({
      type: "page.health",
      pageId,
      channelAccountId,
      isOpen,
      troubles,
    });
  }
}

/** @param {Patient | undefined} patient */
function troublesOf(patient) {
  return patient === undefined ? [] : conditionOf(patient).troubles;
}

/**
 * @param {Patient} patient
 * @returns {Condition}
 */
function conditionOf({ pageId, channelAccountId, told, found }) {
  const troubles = [...new Set([...told, ...found])].sort();
  return { pageId, channelAccountId, troubles };
}

/** @param {Condition} condition */
function isTroubled({ troubles }) {
  return troubles.length > 0;
}

/** @param {unknown} value */
function isWord(value) {
  return typeof value === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(value);
}
