// The composition of the service worker: makes the parts, joins their events, and answers
// messages and alarms. Everything awaits one `ready`; nothing here remembers what matters,
// the store does (OT-70).

import * as browser from "../shared/browser.js";
import { describeError } from "../shared/errors.js";
import { Database } from "../store/database.js";
import { DATABASE_VERSION } from "../store/steps.js";
import { Claims } from "./claims.js";
import { CLOCK } from "./clock.js";
import { commanding } from "./commanding.js";
import { CONFIGURED, readConfiguration } from "./configuration.js";
import { Connection } from "./connection.js";
import { Coverage } from "./coverage.js";
import { Faults } from "./faults.js";
import { FrameRouter } from "./frame-router.js";
import { Health } from "./health.js";
import { LedgerUplink } from "./ledger-uplink.js";
import { everyLedger } from "./ledgers.js";
import { PageMessages } from "./page-messages.js";
import { Pages } from "./pages.js";
import { Presence } from "./presence.js";
import { tryOut } from "./probe.js";
import { Recorder } from "./recorder.js";
import { Settling } from "./settling.js";
import { accountStatuses, pageStatuses } from "./status.js";
import { storeListener } from "./store-listener.js";
import { Sync } from "./sync.js";
import { Uplink } from "./uplink.js";
import { needsWalk } from "./walks.js";

/** @typedef {import("./configuration.js").Stored} Stored */

export class Background {
  bootId = crypto.randomUUID();
  #startedAtMs = Date.now();
  #faults = new Faults(CLOCK.now);
  /** @type {Map<string, string>} account by the request id of a discovery */
  #discoveries = new Map();
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
      online: () => this.#guard(this.#settling.settle()),
      frame: (frame) => this.#guard(this.#router.take(frame)),
      offline: () => {
        this.#uplink.halt();
        this.#ledgers.halt();
        this.#claims.halt();
      },
      stopped: (stop) => this.#guard(this.#remember({ stop })),
      changed: () => this.#showBadge(),
    },
  });
  #recorder = new Recorder(this.#database, CLOCK.now, (recorded) => {
    if (recorded.isFirst) {
      const { channelAccountId, conversationId } = recorded.checkpoint;
      this.#ledgers.met(channelAccountId, [conversationId]);
    }
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
  #ledgers = new LedgerUplink({
    ledgers: everyLedger(this.#database, CLOCK.now),
    connection: this.#connection,
    clock: CLOCK,
    random: Math.random,
    settings: () => this.#stored.settings,
    idle: () => this.#guard(this.#presence.settle()),
    failed: (error) => this.#fault(describeError(error)),
  });
  #claims = new Claims({
    database: this.#database,
    connection: this.#connection,
    clock: CLOCK,
    settings: () => this.#stored.settings,
    reoffered: (account, conversation) => {
      this.#uplink.wake();
      for (const ledger of ["profiles", "cards", "facts"]) {
        this.#ledgers.observed(ledger, account, conversation);
      }
    },
    behind: (account) => this.#sync.wake(account),
    completed: (checkpoint) => {
      if (needsWalk(checkpoint)) this.#sync.wake(checkpoint.channelAccountId);
      this.#guard(this.#presence.settle());
    },
    failed: (error) => this.#fault(describeError(error)),
  });
  #health = new Health({
    connection: this.#connection,
    recovered: (account, wasBlind) => {
      for (const page of this.#pages.all) {
        if (page.channelAccountId !== account) continue;
        if (wasBlind) this.#coverage.forget(page.pageId);
        this.#sync.relist(page);
      }
    },
    changed: () => {
      this.#showBadge();
      this.#guard(this.#presence.settle());
    },
  });
  #pages = new Pages({
    browser,
    clock: CLOCK,
    health: this.#health,
    registered: (page) => {
      this.#settling.registerPage(page);
      this.#sync.relist(page);
      this.#ledgers.retry(page.channelAccountId);
      this.#guard(this.#presence.settle());
    },
  });
  #coverage = new Coverage(this.#database);
  #sync = new Sync({
    coverage: this.#coverage,
    health: this.#health,
    database: this.#database,
    pages: this.#pages,
    recorder: this.#recorder,
    connection: this.#connection,
    clock: CLOCK,
    settings: () => this.#stored.settings,
    listed: (account, conversations) =>
      this.#claims.discover(account, conversations, this.#discoveries),
    met: (...what) => this.#ledgers.met(...what),
    profiled: (account) => this.#told("profiles", account),
    historyEnded: (account, conversation) =>
      this.#claims.consider(account, conversation),
    failed: (error) => this.#fault(describeError(error)),
  });
  #pageMessages = new PageMessages({
    coverage: this.#coverage,
    health: this.#health,
    database: this.#database,
    pages: this.#pages,
    recorder: this.#recorder,
    sync: this.#sync,
    clock: CLOCK,
    told: (...what) => this.#told(...what),
    failed: (fault) => this.#fault(fault),
  });
  #presence = new Presence({
    database: this.#database,
    connection: this.#connection,
    pages: this.#pages,
    sync: this.#sync,
    ledgers: this.#ledgers,
    clock: CLOCK,
    settings: () => this.#stored.settings,
    browser,
    guard: (work) => this.#guard(work),
  });

  #settling = new Settling({
    database: this.#database,
    connection: this.#connection,
    faults: this.#faults,
    claims: this.#claims,
    health: this.#health,
    pages: this.#pages,
    uplink: this.#uplink,
    ledgers: this.#ledgers,
    sync: this.#sync,
    discoveries: this.#discoveries,
    stored: () => this.#stored,
    remember: (values) => this.#remember(values),
  });
  #commands = commanding({
    database: this.#database,
    connection: this.#connection,
    pages: this.#pages,
    sync: this.#sync,
    clock: CLOCK,
    settings: () => this.#stored.settings,
    profiled: (account) => this.#told("profiles", account),
    failed: (fault) => this.#fault(fault),
  });
  #router = new FrameRouter({
    connection: this.#connection,
    faults: this.#faults,
    claims: this.#claims,
    pages: this.#pages,
    uplink: this.#uplink,
    ledgers: this.#ledgers,
    presence: this.#presence,
    commands: this.#commands,
    discoveries: this.#discoveries,
    changed: () => this.#showBadge(),
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
        await this.#settling.settle();
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
    const pages = this.#pageMessages;
    switch (message?.type) {
      case "page.hello":
        return once(() => pages.hello(tabId, message));
      case "page.observed":
        return once(() => pages.observed(tabId, message));
      case "page.troubles":
        return once(async () => pages.troubles(tabId, message));
      case "page.gone":
        return once(async () => this.#pages.gone(tabId, String(message.pageId)));
      case "page.told":
        return once(() => pages.told(message));
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
    if (message.kind === "rebuild") return this.#rebuild(message);
    return { error: { code: "unknown_request", message: String(message.kind) } };
  }

  /** @param {{channelAccountId: string, conversationId: string}} conversation */
  async #rebuild({ channelAccountId, conversationId }) {
    if (this.#pages.of(channelAccountId) === undefined) {
      return { error: { code: "page_missing", message: "No page is open." } };
    }
    try {
      return { rebuilt: await this.#sync.rebuild(channelAccountId, conversationId) };
    } catch (error) {
      return { error: this.#fault(describeError(error)) };
    }
  }

  async #status() {
    const { state, stop, trouble, retryAtMs, welcome } = this.#connection;
    const connection = { state, stop, trouble, retryAtMs, accounts: welcome?.accounts };
    const common = {
      bootId: this.bootId,
      startedAtMs: this.#startedAtMs,
      nowMs: Date.now(),
      connection,
      pages: pageStatuses(this.#pages.all, this.#health, welcome?.accounts),
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

  /**
   * A page told something that one of the ledgers beside the messages keeps.
   *
   * @param {string} ledger
   * @param {string} account
   * @param {string} [conversation]
   */
  #told(ledger, account, conversation) {
    this.#presence.busy();
    this.#ledgers.observed(ledger, account, conversation);
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
    const isStopped = state === "stopped" || state === "unconfigured";
    const isBad = isStopped || this.#health.troubled.length > 0;
    const badge = { text: isBad ? "!" : "", color: "#b3261e" };
    browser.setBadge(badge).catch(() => {}); // an icon without a badge is no failure
  }
}
