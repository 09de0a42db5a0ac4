// Commands of Bright: each is carried out at once or not at all, and answered once, on the
// connection that it came on (OT-62). Nothing of one is kept: a worker that dies in the
// middle of it knows of none (OT-63).

import { PageError, StoreError, describeError } from "../shared/errors.js";
import { markForReading } from "./rereading.js";
import { recordProfiles } from "./profiles.js";

const MAX_IN_HAND = 8;
/** Ids that are remembered, so that a doubled frame is one command. */
const MAX_SEEN = 200;
const MAX_ID = 256;
const MAX_TEXT = 20_000;
/** The wire's closed list; what else a page says of itself is that it failed. */
const REASONS = [
  "account_changed",
  "arguments_invalid",
  "busy",
  "command_unsupported",
  "consent_missing",
  "conversation_unknown",
  "deadline_passed",
  "not_confirmed",
  "paced",
  "page_gone",
  "page_missing",
  "page_timeout",
  "profile_missing",
  "route_ambiguous",
  "route_missing",
  "route_without_conversation",
  "store_failed",
  "surface_missing",
];

/** @typedef {import("../shared/frames.js").Command} Command */
/** @typedef {import("./sending.js").Errand} Errand */

/**
 * @typedef {object} Result
 * @property {"done" | "failed" | "delivery_unknown"} outcome
 * @property {string | null} reason
 */

/** @type {Result} */
const DONE = { outcome: "done", reason: null };

export class Commands {
  #inHand = 0;
  /** @type {Set<string>} */
  #seen = new Set();
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./sync.js").Sync} parts.sync
   * @param {import("./sending.js").Sending} parts.sending
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {(account: string) => void} parts.profiled
   * @param {(fault: {code: string, message: string}) => unknown} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * Carries out a command and answers it, if whoever asked is still there.
   *
   * @param {Command} command
   * @returns {Promise<void>}
   */
  async take(command) {
    const { connection } = this.#parts;
    const { welcome } = connection;
    if (welcome === null || !this.#isNew(command.commandId)) return;
    /** @type {Errand} */
    const errand = {
      isCurrent: () => connection.welcome === welcome,
      leftMs: () => command.deadlineMs - connection.serverNowMs(),
    };
    const result = await this.#result(command, errand);
    if (result === null || !errand.isCurrent()) return;
    const { outcome, reason } = result;
    connection.send({
      type: "command.result",
      commandId: command.commandId,
      outcome,
      ...(reason === null ? {} : { reason: reasonOf(reason) }),
    });
  }

  /** @param {string} commandId */
  #isNew(commandId) {
    if (this.#seen.has(commandId)) return false;
    this.#seen.add(commandId);
    for (const first of this.#seen) {
      if (this.#seen.size <= MAX_SEEN) break;
      this.#seen.delete(first);
    }
    return true;
  }

  /**
   * @param {Command} command
   * @param {Errand} errand
   * @returns {Promise<Result | null>}
   */
  async #result(command, errand) {
    if (this.#inHand >= MAX_IN_HAND) return failed("busy");
    if (!isRight(command)) return failed("arguments_invalid");
    if (!(errand.leftMs() > 0)) return failed("deadline_passed");
    this.#inHand += 1;
    try {
      return await this.#carriedOut(command, errand);
    } catch (error) {
      if (error instanceof StoreError) {
        this.#parts.failed(describeError(error));
        return failed("store_failed");
      }
      if (!(error instanceof PageError)) this.#parts.failed(describeError(error));
      return failed(describeError(error).code);
    } finally {
      this.#inHand -= 1;
    }
  }

  /**
   * @param {Command} command
   * @param {Errand} errand
   * @returns {Promise<Result | null>}
   */
  #carriedOut({ name, arguments: given }, errand) {
    switch (name) {
      case "message.send":
        return this.#parts.sending.send(/** @type {any} */ (given), errand);
      case "profile.snapshot":
        return this.#inTime(this.#snapshot(/** @type {any} */ (given)), errand);
      case "conversation.sync":
        return this.#inTime(this.#sync(/** @type {any} */ (given)), errand);
      default:
        return Promise.resolve(failed("command_unsupported"));
    }
  }

  /**
   * What takes longer goes on, and is not waited for.
   *
   * @param {Promise<Result>} work
   * @param {Errand} errand
   * @returns {Promise<Result>}
   */
  async #inTime(work, errand) {
    const { clock } = this.#parts;
    /** @type {number | undefined} */
    let timer;
    const late = new Promise((resolve) => {
      timer = clock.after(() => resolve(failed("deadline_passed")), errand.leftMs());
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clock.cancel(timer);
    }
  }

  /**
   * Observes the contact's profile. Whatever comes of it concerns no message: it is a
   * diagnostic of its own (OT-87).
   *
   * @param {{channelAccountId: string, conversationId: string}} scope
   * @returns {Promise<Result>}
   */
  async #snapshot(scope) {
    try {
      return await this.#observed(scope);
    } catch (error) {
      const { message } = describeError(error);
      this.#parts.failed({ code: "profile_not_observed", message });
      throw error;
    }
  }

  /**
   * @param {{channelAccountId: string, conversationId: string}} scope
   * @returns {Promise<Result>}
   */
  async #observed({ channelAccountId: account, conversationId }) {
    const { clock, database, pages, profiled, settings } = this.#parts;
    const page = pages.of(account);
    if (page === undefined) return failed("page_missing");
    const timeoutMs = settings().pageTimeoutMs;
    const body = { timeoutMs: timeoutMs / 2 };
    const answer = await pages.ask(page, "conversations", body, timeoutMs);
    /** @type {any[]} */
    const rows = answer.conversations ?? [];
    const row = rows.find((each) => each?.conversationId === conversationId);
    if (row?.contact === undefined) return failed("profile_missing");
    const pending = await recordProfiles(database, account, [row], clock.now());
    if (pending > 0) profiled(account);
    return DONE;
  }

  /**
   * @param {{channelAccountId: string, conversationId?: string | null, rebuild?: boolean}} asked
   * @returns {Promise<Result>}
   */
  async #sync({ channelAccountId: account, conversationId, rebuild }) {
    const { clock, database, pages, settings, sync } = this.#parts;
    const page = pages.of(account);
    if (page === undefined) return failed("page_missing");
    let conversation = conversationId ?? null;
    if (conversation === null) {
      const shown = await pages.ask(page, "describe", {}, settings().pageTimeoutMs);
      if (shown.channelAccountId !== account) return failed("account_changed");
      conversation = shown.conversationId ?? null;
      // A definite reason, not silence (OT-65).
      if (conversation === null) return failed(shown.routeReason ?? "route_missing");
    }
    if (rebuild === true) {
      const gone = await sync.rebuild(account, conversation);
      return gone === null ? failed("conversation_unknown") : DONE;
    }
    const now = clock.now();
    const isKnown = await markForReading(database, account, conversation, now);
    if (!isKnown) return failed("conversation_unknown");
    sync.wake(account);
    return DONE;
  }
}

/** @param {Command} command */
function isRight({ name, arguments: given, deadlineMs }) {
  if (!Number.isInteger(deadlineMs) || !isId(given?.channelAccountId)) return false;
  const { conversationId, text } = given;
  if (name === "message.send") {
    const isText = typeof text === "string" && text !== "" && text.length <= MAX_TEXT;
    return isText && isId(conversationId);
  }
  if (name === "conversation.sync" && given.rebuild !== true) {
    return (conversationId ?? null) === null || isId(conversationId);
  }
  return isId(conversationId) || !isOurs(name);
}

/** @param {string} name */
function isOurs(name) {
  return name === "profile.snapshot" || name === "conversation.sync";
}

/** @param {unknown} value */
function isId(value) {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID;
}

/** @param {string} code */
function reasonOf(code) {
  return REASONS.includes(code) ? code : "page_failed";
}

/**
 * @param {string} reason
 * @returns {Result}
 */
function failed(reason) {
  return { outcome: "failed", reason };
}
