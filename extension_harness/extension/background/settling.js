// What is due once on each connection, when Bright has welcomed us: settle what it knows of
// the past, then send (OT-51, OT-63).

import { reoffer } from "../store/deliveries.js";
import { reofferLedgers } from "../store/ledger-reoffers.js";

/** @typedef {import("../shared/frames.js").Welcome} Welcome */
/** @typedef {import("./configuration.js").Stored} Stored */

export class Settling {
  /** @type {Welcome | null} the one that all was done about that there is to do */
  #settled = null;
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./faults.js").Faults} parts.faults
   * @param {import("./claims.js").Claims} parts.claims
   * @param {import("./health.js").Health} parts.health
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./uplink.js").Uplink} parts.uplink
   * @param {import("./ledger-uplink.js").LedgerUplink} parts.ledgers
   * @param {import("./sync.js").Sync} parts.sync
   * @param {Map<string, string>} parts.discoveries account by the request id of a discovery
   * @param {() => Stored} parts.stored
   * @param {(values: Partial<Stored>) => Promise<void>} parts.remember
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * Settles the present welcome, once; when the store failed meanwhile, again later.
   *
   * @returns {Promise<void>}
   * @throws {import("../shared/errors.js").StoreError}
   */
  async settle() {
    const { welcome } = this.#parts.connection;
    if (welcome === null || welcome === this.#settled) return;
    this.#settled = welcome;
    try {
      await this.#online(welcome);
    } catch (error) {
      if (this.#settled === welcome) this.#settled = null;
      throw error;
    }
  }

  /**
   * Makes a page known to Bright (OT-63); of an account that the binding does not hold
   * nothing is sent (OT-60).
   *
   * @param {import("./pages.js").Page} page
   */
  registerPage({ pageId, channelAccountId, route }) {
    const { connection, faults } = this.#parts;
    const held = connection.welcome?.accounts;
    if (held === undefined) return;
    if (!held.includes(channelAccountId)) {
      const message = "The binding does not hold the page's account.";
      return faults.refused({ code: "out_of_scope", message, channelAccountId }, []);
    }
    connection.send({
      type: "page.register",
      requestId: connection.nextRequestId(),
      pageId,
      channelAccountId,
      route,
    });
  }

  /** @param {Welcome} welcome */
  async #online(welcome) {
    const { claims, connection, discoveries, faults, health, pages } = this.#parts;
    const { accounts } = welcome;
    faults.welcomed(accounts);
    claims.reset();
    discoveries.clear();
    await this.#offerToAnotherStore(welcome);
    if (connection.welcome !== welcome) return;
    for (const page of pages.all) this.registerPage(page);
    health.tellAll();
    for (const account of accounts) await claims.discoverAll(account, discoveries);
    if (connection.welcome !== welcome) return;
    const { ledgers, sync, uplink } = this.#parts;
    uplink.start();
    await claims.considerAll(accounts);
    if (connection.welcome !== welcome) return;
    for (const account of accounts) sync.wake(account);
    ledgers.start(); // after the messages, which wait for none of it (OT-87)
  }

  /**
   * Another store may not have what the last one confirmed: it all goes again.
   *
   * @param {Welcome} welcome
   */
  async #offerToAnotherStore({ accounts, storeId }) {
    const { database, remember, stored } = this.#parts;
    const storeIds = { ...stored().storeIds };
    for (const account of accounts) {
      const last = storeIds[account];
      if (last !== undefined && last !== storeId) {
        await reoffer(database, account, null);
        await reofferLedgers(database, account, null);
      }
      storeIds[account] = storeId;
    }
    await remember({ storeIds, lastStoreId: storeId });
  }
}
