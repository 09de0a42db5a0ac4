// Whether there is anything to be connected for. With nothing, the socket closes after a
// short grace, the alarm goes, and the worker may die; nothing is kept alive for its own
// sake.

import { checkpointsOf, countCandidates, knownAccounts } from "../store/checkpoints.js";

export class Presence {
  /** @type {number | undefined} */
  #idleTimer;
  #isSettling = false;
  /** What was looked at may be old: work came, or somebody else asked meanwhile. */
  #again = false;
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {{want: (wanted: boolean) => void}} parts.connection
   * @param {{isAnyOpen: boolean}} parts.pages
   * @param {{hasWork: boolean}} parts.sync
   * @param {{isUnfinished: (account: string) => Promise<boolean>}} parts.ledgers
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {{setAlarm: () => Promise<unknown>, clearAlarm: () => Promise<unknown>}} parts.browser
   * @param {(work: Promise<unknown>) => void} parts.guard
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** There is work: connect, and be woken if this worker dies before it is done. */
  busy() {
    this.#again = true;
    this.#stay();
  }

  #stay() {
    const { browser, clock, connection, guard } = this.#parts;
    clock.cancel(this.#idleTimer);
    this.#idleTimer = undefined;
    connection.want(true);
    guard(browser.setAlarm());
  }

  /** Looks whether there is work left, and acts on it. */
  async settle() {
    this.#again = true;
    if (this.#isSettling) return;
    this.#isSettling = true;
    try {
      while (this.#again) {
        this.#again = false;
        if (this.#isWatching() || (await this.#isUnfinished())) return this.#stay();
      }
      const { clock, settings } = this.#parts;
      this.#idleTimer ??= clock.after(() => this.#rest(), settings().idleGraceMs);
    } finally {
      this.#isSettling = false;
    }
  }

  #isWatching() {
    const { pages, settings, sync } = this.#parts;
    return (settings().connectWhilePageOpen && pages.isAnyOpen) || sync.hasWork;
  }

  #rest() {
    const { browser, connection, guard } = this.#parts;
    this.#idleTimer = undefined;
    connection.want(false);
    guard(browser.clearAlarm());
  }

  /** Anything that waits for an ACK or for its anchor. */
  async #isUnfinished() {
    const { database, ledgers } = this.#parts;
    for (const account of await knownAccounts(database)) {
      if ((await countCandidates(database, account, "pending_ack")) > 0) return true;
      for await (const page of checkpointsOf(database, account)) {
        const isAnyOpen = page.some(
          ({ historyComplete, isBehind, phase, result }) =>
            historyComplete && !isBehind && phase === "uploading" && result === null,
        );
        if (isAnyOpen) return true;
      }
      if (await ledgers.isUnfinished(account)) return true;
    }
    return false;
  }
}
