// The last fault, for the popup to show. A fault that Bright named is over when another
// configuration is saved, or when Bright takes the account that it did not hold; one of this
// side (the store, a page) is no matter of the configuration and stays. That the store is
// not open is no fault that happened but a state that lasts: it is shown before any fault
// while it lasts, and never after.

/** @typedef {{code: string, message: string}} Described */
/**
 * @typedef {Described & {atMs: number, account: string | null}} Fault
 *     `account`: the one that it is about, where that is known
 */

/** What the store says of not being open: told by `hold` and `release` alone. */
const NOT_OPEN = [
  "store_blocked",
  "store_waiting",
  "store_newer",
  "store_unavailable",
  "upgrade_failed",
];

export class Faults {
  /** @type {Fault | null} */
  #last = null;
  /** @type {Fault | null} */
  #lasting = null;
  #isBrights = false;
  #now;

  /** @param {() => number} now */
  constructor(now) {
    this.#now = now;
  }

  /** @returns {Fault | null} */
  get last() {
    return this.#lasting ?? this.#last;
  }

  /**
   * The store is not open, and this is why.
   *
   * @param {Described} fault
   */
  hold({ code, message }) {
    if (this.#lasting?.code === code) return; // it lasts since it was said first
    this.#lasting = { code, message, atMs: this.#now(), account: null };
  }

  /**
   * The store is open.
   *
   * @returns {boolean} it was not, before
   */
  release() {
    const wasHeld = this.#lasting !== null;
    this.#lasting = null;
    return wasHeld;
  }

  /**
   * Something went wrong on this side.
   *
   * @param {Described} fault
   * @returns {Fault | null} what is to be shown now
   */
  add({ code, message }) {
    // A full disk is both: while it keeps the store from being opened, it is held.
    if (!NOT_OPEN.includes(code) && this.#lasting?.code !== code) {
      this.#isBrights = false;
      this.#last = { code, message, atMs: this.#now(), account: null };
    }
    return this.last;
  }

  /**
   * Bright refused something for good.
   *
   * @param {{code: string, message: string, channelAccountId?: string | null}} error
   * @param {string[]} foreign accounts of open pages that the binding does not hold
   */
  refused({ code, message, channelAccountId }, foreign) {
    const guessed = code === "out_of_scope" ? (foreign[0] ?? null) : null;
    const account = channelAccountId ?? guessed;
    this.#isBrights = true;
    this.#last = { code, message, atMs: this.#now(), account };
  }

  /** Another server or token: what the last one said is over. */
  reconfigured() {
    if (this.#isBrights) this.#last = null;
  }

  /**
   * Bright has welcomed us for these accounts.
   *
   * @param {string[]} accounts
   */
  welcomed(accounts) {
    if (this.#last?.code !== "out_of_scope") return;
    const { account } = this.#last;
    // Whatever still is out of scope is said again at once: its page registers anew.
    if (account === null || accounts.includes(account)) this.#last = null;
  }
}
