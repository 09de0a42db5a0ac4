// The composition of the service worker: makes the parts, joins their events, and answers
// messages and alarms. Everything awaits one `ready`; nothing here remembers what matters,
// the store does (OT-70).

import * as browser from "../shared/browser.js";
import { describeError } from "../shared/errors.js";
import { Database } from "../store/database.js";
import { reoffer } from "../store/deliveries.js";
import { DATABASE_VERSION } from "../store/steps.js";
import { Claims } from "./claims.js";
import { CLOCK } from "./clock.js";
import { CONFIGURED, readConfiguration } from "./configuration.js";
import { Connection } from "./connection.js";
import { Coverage } from "./coverage.js";
import { Faults } from "./faults.js";
import { PageMessages } from "./page-messages.js";
import { Pages } from "./pages.js";
import { Presence } from "./presence.js";
import { tryOut } from "./probe.js";
import { Recorder } from "./recorder.js";
import { accountStatuses } from "./status.js";
import { storeListener } from "./store-listener.js";
import { Sync } from "./sync.js";
import { Uplink } from "./uplink.js";
import { needsWalk } from "./walks.js";

/** @typedef {import("../shared/frames.js").Welcome} Welcome */
/** @typedef {import("../shared/frames.js").Incoming} Incoming */
/** @typedef {import("./configuration.js").Stored} Stored */

export class Background {
  bootId = crypto.randomUUID();
  #startedAtMs = Date.now();
  #faults = new Faults(CLOCK.now);
  /** @type {Map<string, string>} account by the request id of a discovery */
  #discoveries = new Map();
  /** @type {Welcome | null} the one that all was done about that there is to do */
  #settled = null;
  /** @type {Stored} */
  #stored = /** @type {any} */ (null); // set before `ready` is
  #identity = {
    bootId: this.bootId,
    extensionVersion: browser.extensionVersion(),
    storeVersion: DATABASE_VERSION,
  };

  #database = new Database(
    indexedDB,
    storeListener({
      faults: this.#faults,
      changed: () => this.#showBadge(),
      relist: () => this.#pages.all.forEach((page) => this.#sync.relist(page)),
      resume: () => this.alarm(),
    }),
  );
  #connection = new Connection({
    configuration: () => this.#stored,
    openSocket: (url, protocol) => new WebSocket(url, protocol),
    clock: CLOCK,
    random: Math.random,
    identity: this.#identity,
    events: {
      online: () => this.#guard(this.#settleWelcome()),
      frame: (frame) => this.#guard(this.#frame(frame)),
      offline: () => this.#uplink.halt(),
      stopped: (stop) => this.#guard(this.#remember({ stop })),
      changed: () => this.#showBadge(),
    },
  });
  #recorder = new Recorder(this.#database, CLOCK.now, (recorded) => {
    if (recorded.added === 0) return;
    this.#presence.busy();
    this.#uplink.wake();
  });
  #uplink = new Uplink({
    database: this.#database,
    connection: this.#connection,
    clock: CLOCK,
    random: Math.random,
    settings: () => this.#stored.settings,
    applied: ({ pending, checkpoint }) => {
      if (pending > 0 || !checkpoint?.historyComplete) return;
      const { channelAccountId, conversationId } = checkpoint;
      this.#guard(this.#claims.consider(channelAccountId, conversationId));
    },
    failed: (error) => this.#fault(describeError(error)),
  });
  #claims = new Claims({
    database: this.#database,
    connection: this.#connection,
    now: CLOCK.now,
    settings: () => this.#stored.settings,
    reoffered: () => this.#uplink.wake(),
    behind: (account) => this.#sync.wake(account),
    completed: (checkpoint) => {
      if (needsWalk(checkpoint)) this.#sync.wake(checkpoint.channelAccountId);
      this.#guard(this.#presence.settle());
    },
  });
  #pages = new Pages({
    browser,
    clock: CLOCK,
    registered: (page) => {
      this.#registerPage(page);
      this.#sync.relist(page);
      this.#guard(this.#presence.settle());
    },
  });
  #coverage = new Coverage(this.#database);
  #sync = new Sync({
    coverage: this.#coverage,
    database: this.#database,
    pages: this.#pages,
    recorder: this.#recorder,
    connection: this.#connection,
    clock: CLOCK,
    settings: () => this.#stored.settings,
    listed: (account, conversations) =>
      this.#claims.discover(account, conversations, this.#discoveries),
    historyEnded: (account, conversation) =>
      this.#claims.consider(account, conversation),
    failed: (error) => this.#fault(describeError(error)),
  });
  #pageMessages = new PageMessages({
    coverage: this.#coverage,
    database: this.#database,
    pages: this.#pages,
    recorder: this.#recorder,
    sync: this.#sync,
    failed: (fault) => this.#fault(fault),
  });
  #presence = new Presence({
    database: this.#database,
    connection: this.#connection,
    pages: this.#pages,
    sync: this.#sync,
    clock: CLOCK,
    settings: () => this.#stored.settings,
    browser,
    guard: (work) => this.#guard(work),
  });

  ready = this.#begin();

  async #begin() {
    this.#stored = await readConfiguration();
    this.#connection.reconfigure(this.#stored.stop);
    await browser.writeSession({ bootId: this.bootId, startedAtMs: this.#startedAtMs });
    await browser.setAlarm(); // set anew at every start; taken back when there is no work
    this.#guard(this.#lookAround());
  }

  /** Finds the pages that are open, and whether there is work. */
  async #lookAround() {
    await this.#database.open();
    await this.#pages.look(this.#stored.settings.pageTimeoutMs);
    await this.#presence.settle();
  }

  /** The alarm: whatever died with a timer or another worker goes on here. */
  alarm() {
    this.#guard(
      this.ready.then(async () => {
        await this.#lookAround();
        this.#connection.poke();
        await this.#settleWelcome();
        this.#uplink.wake();
        const accounts = this.#connection.welcome?.accounts ?? [];
        await this.#claims.considerAll(accounts);
        for (const page of this.#pages.all) this.#sync.wake(page.channelAccountId);
      }),
    );
  }

  /** @param {string[]} keys what changed in the configuration's place */
  configured(keys) {
    if (!keys.some((key) => CONFIGURED.includes(key))) return;
    this.#guard(
      this.ready.then(async () => {
        const before = this.#stored;
        this.#stored = await readConfiguration();
        const { serverUrl: url, bindingToken: token } = this.#stored;
        if (url === before.serverUrl && token === before.bindingToken) return;
        this.#faults.reconfigured();
        await this.#remember({ stop: null });
        this.#connection.reconfigure(null);
        await this.#presence.settle();
      }),
    );
  }

  /**
   * Answers the messages that are the worker's; every other one is left to its listener.
   *
   * @param {any} message
   * @param {{tabId: number | null, frameId: number}} sender
   * @returns {Promise<unknown> | null}
   */
  message(message, sender) {
    if (message?.to === "worker") return this.#asked(message);
    if (sender.tabId === null || sender.frameId !== 0) return null;
    const tabId = sender.tabId;
    /** @param {() => Promise<unknown>} answer */
    const once = (answer) => this.ready.then(answer);
    if (message?.type === "page.hello") {
      return once(() => this.#pageMessages.hello(tabId, message));
    }
    if (message?.type === "page.observed") {
      return once(() => this.#pageMessages.observed(tabId, message));
    }
    return null;
  }

  /** @param {any} message from the popup or the options page */
  async #asked(message) {
    await this.ready;
    if (message.kind === "status") return this.#status();
    if (message.kind === "test") return this.#test(message);
    if (message.kind === "reconnect") {
      await this.#remember({ stop: null });
      this.#connection.reconfigure(null);
      await this.#presence.settle();
      return {};
    }
    return { error: { code: "unknown_request", message: String(message.kind) } };
  }

  async #status() {
    const { state, stop, trouble, retryAtMs, welcome } = this.#connection;
    const connection = { state, stop, trouble, retryAtMs, accounts: welcome?.accounts };
    const common = {
      bootId: this.bootId,
      startedAtMs: this.#startedAtMs,
      nowMs: Date.now(),
      connection,
      pages: this.#pages.all.length,
      batchesInFlight: this.#uplink.batchesInFlight,
    };
    try {
      const accounts = await accountStatuses(this.#database);
      return { ...common, accounts, lastFault: this.#faults.last };
    } catch (error) {
      return { ...common, accounts: [], lastFault: this.#fault(describeError(error)) };
    }
  }

  /** @param {{serverUrl: string, bindingToken: string | null}} trial */
  #test({ serverUrl, bindingToken }) {
    return tryOut(serverUrl, {
      bindingToken: bindingToken ?? this.#stored.bindingToken,
      identity: this.#identity,
      timeoutMs: this.#stored.settings.openTimeoutMs,
    });
  }

  /** Settles the present welcome, once; when the store failed meanwhile, again later. */
  async #settleWelcome() {
    const { welcome } = this.#connection;
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
   * Bright has welcomed us: settle what it knows of the past, then send (OT-51, OT-63).
   *
   * @param {Welcome} welcome
   */
  async #online(welcome) {
    const { accounts, storeId } = welcome;
    this.#faults.welcomed(accounts);
    this.#claims.reset();
    this.#discoveries.clear();
    const storeIds = { ...this.#stored.storeIds };
    for (const account of accounts) {
      const last = storeIds[account];
      // Another store may not have what the last one confirmed: it all goes again.
      if (last !== undefined && last !== storeId) {
        await reoffer(this.#database, account, null);
      }
      storeIds[account] = storeId;
    }
    await this.#remember({ storeIds, lastStoreId: storeId });
    if (this.#connection.welcome !== welcome) return;
    for (const page of this.#pages.all) this.#registerPage(page);
    for (const account of accounts) {
      await this.#claims.discoverAll(account, this.#discoveries);
    }
    if (this.#connection.welcome !== welcome) return;
    this.#uplink.start();
    await this.#claims.considerAll(accounts);
    for (const account of accounts) this.#sync.wake(account);
  }

  /** @param {Incoming} frame */
  async #frame(frame) {
    switch (frame.type) {
      case "observation.ack":
        await this.#uplink.acknowledge(frame);
        return this.#uplink.batchesInFlight === 0 ? this.#presence.settle() : undefined;
      case "anchor.snapshot":
        return this.#claims.anchored(frame.anchors);
      case "conversation.known": {
        const account = this.#discoveries.get(frame.requestId);
        this.#discoveries.delete(frame.requestId);
        return account && this.#claims.compare(account, frame.conversations);
      }
      case "ws.error":
        return this.#refused(frame);
      case "command":
        // Never queued and never tried later: what cannot be done fails now (OT-62).
        this.#connection.send({
          type: "command.result",
          commandId: frame.commandId,
          outcome: "failed",
          reason: "command_unsupported",
        });
    }
  }

  /** @param {import("../shared/frames.js").WsError} error */
  async #refused(error) {
    const { code, channelAccountId, conversationId } = error;
    if (code === "claim_unproven" && channelAccountId && conversationId) {
      return this.#claims.offerAgain(channelAccountId, conversationId);
    }
    await this.#uplink.refuse(error);
    if (error.retryable) return;
    const held = this.#connection.welcome?.accounts ?? [];
    const open = this.#pages.all.map((page) => page.channelAccountId);
    const foreign = open.filter((account) => !held.includes(account));
    this.#faults.refused(error, foreign);
    this.#showBadge();
  }

  /** @param {import("./pages.js").Page} page */
  #registerPage({ pageId, channelAccountId, route }) {
    this.#connection.send({
      type: "page.register",
      requestId: this.#connection.nextRequestId(),
      pageId,
      channelAccountId,
      route,
    });
  }

  /** @param {Partial<Stored>} values */
  async #remember(values) {
    Object.assign(this.#stored, values);
    await browser.writeLocal(values);
  }

  /** @param {{code: string, message: string}} fault */
  #fault(fault) {
    this.#showBadge();
    return this.#faults.add(fault);
  }

  /** @param {Promise<unknown>} work whose failure has nobody else to be told to */
  #guard(work) {
    work.catch((error) => this.#fault(describeError(error)));
  }

  #showBadge() {
    const { state } = this.#connection;
    const isBad = state === "stopped" || state === "unconfigured";
    const badge = { text: isBad ? "!" : "", color: "#b3261e" };
    browser.setBadge(badge).catch(() => {}); // an icon without a badge is no failure
  }
}
