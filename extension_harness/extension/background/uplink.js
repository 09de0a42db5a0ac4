// The uplink: candidates that wait for their ACK go to Bright, oldest first, one batch of a
// conversation at a time, several conversations at once. All it knows of the past is in the
// store; what is in flight is forgotten with the connection and goes again.

import { packBatch, wireMessage } from "../shared/frames.js";
import { conversationKey } from "../shared/keys.js";
import { anomalyRecord } from "../shared/anomalies.js";
import { readCheckpoint } from "../store/checkpoints.js";
import {
  applyResults,
  nextPending,
  pendingConversations,
} from "../store/deliveries.js";
import { Cooling } from "./cooling.js";

/** Conversations looked up in one step of the search for work. */
const LOOK_AHEAD = 32;
const BUFFER_LOOK_MS = 50;

/** @typedef {import("../shared/frames.js").ObservationAck} ObservationAck */
/** @typedef {import("../shared/frames.js").WsError} WsError */
/** @typedef {import("../shared/records.js").CandidateRecord} CandidateRecord */
/** @typedef {import("../shared/records.js").MessageRecord} MessageRecord */
/** @typedef {import("../store/deliveries.js").Applied} Applied */

/**
 * @typedef {object} Batch
 * @property {string} channelAccountId
 * @property {string} conversationId
 * @property {CandidateRecord[]} candidates
 * @property {number | undefined} timer
 */

export class Uplink {
  /** @type {Map<string, Batch>} by request id */
  #inFlight = new Map();
  /** @type {Map<string, string>} request id by conversation */
  #busy = new Map();
  /** @type {Set<string>} accounts that Bright does not take on this connection */
  #foreign = new Set();
  /** @type {Map<string, string | null>} where the search of an account goes on */
  #searchFrom = new Map();
  #open = false;
  #pumping = false;
  #turn = -1;
  #again = false;
  /** @type {number | undefined} */
  #timer;
  /** @type {number | null} */
  #wakeAtMs = null;
  #cooling;
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => number} parts.random
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {(applied: Applied) => void} parts.applied told after an ACK was written down
   * @param {(error: unknown) => void} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
    const bounds = () => {
      const { backoffCapMs, retryCoolMs } = parts.settings();
      return { baseMs: retryCoolMs, capMs: backoffCapMs };
    };
    this.#cooling = new Cooling(parts.clock.steady, parts.random, bounds);
  }

  get batchesInFlight() {
    return this.#inFlight.size;
  }

  /** Bright has welcomed us, and what it knows of the past is settled: send. */
  start() {
    this.#open = true;
    this.#foreign.clear();
    this.wake();
  }

  /** The connection is gone: what was in flight is unanswered and pending (OT-51). */
  halt() {
    this.#open = false;
    for (const batch of this.#inFlight.values()) this.#parts.clock.cancel(batch.timer);
    this.#inFlight.clear();
    this.#busy.clear();
    this.#parts.clock.cancel(this.#timer);
    this.#wakeAtMs = null;
  }

  /** Something may have become sendable. */
  wake() {
    if (!this.#open) return;
    this.#again = true;
    if (!this.#pumping) void this.#pump();
  }

  async #pump() {
    this.#pumping = true;
    try {
      while (this.#again && this.#open) {
        this.#again = false;
        await this.#fill();
      }
    } catch (error) {
      this.#parts.failed(error);
      this.#wakeIn(this.#parts.settings().retryCoolMs);
    } finally {
      this.#pumping = false;
    }
  }

  /** Hands batches over until nothing is left, or a bound is met. */
  async #fill() {
    const accounts = this.#parts.connection.welcome?.accounts ?? [];
    // Another one begins each time: no account's backlog keeps another's waiting.
    this.#turn = (this.#turn + 1) % Math.max(1, accounts.length);
    const inTurn = [...accounts.slice(this.#turn), ...accounts.slice(0, this.#turn)];
    for (const account of inTurn) {
      if (this.#foreign.has(account)) continue;
      while (this.#hasRoom()) {
        const conversations = await this.#findWork(account);
        if (conversations.length === 0) break;
        for (const conversation of conversations) {
          if (!this.#hasRoom()) return;
          await this.#sendNext(account, conversation);
        }
      }
    }
  }

  #hasRoom() {
    const { connection, settings } = this.#parts;
    const limits = connection.welcome?.limits;
    if (!this.#open || limits === undefined) return false;
    const most = Math.min(limits.maxInFlightBatches, settings().maxInFlightBatches);
    if (this.#inFlight.size >= most) return false;
    if (connection.bufferedBytes > settings().maxBufferedBytes) {
      this.#wakeIn(BUFFER_LOOK_MS);
      return false;
    }
    return true;
  }

  /**
   * Conversations with something to send that are neither in flight nor cooling. The
   * search goes on where it stopped, so that each gets its turn.
   *
   * @param {string} account
   * @returns {Promise<string[]>}
   */
  async #findWork(account) {
    let after = this.#searchFrom.get(account) ?? null;
    let wrapped = after === null;
    for (;;) {
      const found = await pendingConversations(this.#parts.database, account, {
        limit: LOOK_AHEAD,
        after,
      });
      const free = found.filter((each) => this.#isFree(conversationKey(account, each)));
      after = found.length < LOOK_AHEAD ? null : found[found.length - 1];
      this.#searchFrom.set(account, after);
      if (free.length > 0) return free;
      for (const each of found) this.#wakeWhenCool(conversationKey(account, each));
      if (after === null) {
        if (wrapped) return [];
        wrapped = true;
      }
    }
  }

  /** @param {string} key */
  #wakeWhenCool(key) {
    if (!this.#busy.has(key)) this.#wakeIn(this.#cooling.leftMs(key));
  }

  /** @param {string} key */
  #isFree(key) {
    return !this.#busy.has(key) && this.#cooling.leftMs(key) === 0;
  }

  /**
   * @param {string} account
   * @param {string} conversation
   */
  async #sendNext(account, conversation) {
    const { connection, database, settings } = this.#parts;
    const limits = connection.welcome?.limits;
    const key = conversationKey(account, conversation);
    if (limits === undefined || !this.#isFree(key)) return;
    const most = Math.min(
      limits.maxBatchMessages,
      settings().maxBatchMessages,
      this.#cooling.maxMessages(key),
    );
    const requestId = connection.nextRequestId();
    this.#busy.set(key, requestId);
    try {
      const pending = await nextPending(database, account, conversation, most);
      const checkpoint = await readCheckpoint(database, account, conversation);
      if (!this.#open) return;
      // A candidate that is not where its key says: looked for again, but not at once.
      if (pending.length === 0) return this.#cool(key, Infinity);
      const empty = pending.find((each) => each.message === undefined);
      if (empty !== undefined) {
        return await this.#park(empty.candidate, "message_missing");
      }
      const envelope = {
        type: "observation.batch",
        requestId,
        channelAccountId: account,
        conversationId: conversation,
        mode: checkpoint?.syncMode ?? "full",
        receivedAtMs: Math.max(
          ...pending.map(
            ({ candidate }) => candidate.observedAtMs ?? candidate.sentAtMs,
          ),
        ),
      };
      const messages = pending.map(({ candidate, message }) => ({
        part: candidate,
        wire: wireMessage(candidate, /** @type {MessageRecord} */ (message)),
      }));
      const packed = packBatch(messages, envelope, limits.maxFrameBytes);
      if (packed.tooLarge !== null)
        return await this.#park(packed.tooLarge, "too_large");
      const isSent = connection.send(packed.frame);
      if (isSent) this.#sent(requestId, account, conversation, packed.parts);
      this.#open = isSent; // a socket that is closing takes nothing: the next welcome opens
    } finally {
      if (!this.#inFlight.has(requestId) && this.#busy.get(key) === requestId) {
        this.#busy.delete(key);
      }
    }
  }

  /**
   * @param {string} requestId
   * @param {string} channelAccountId
   * @param {string} conversationId
   * @param {CandidateRecord[]} candidates
   */
  #sent(requestId, channelAccountId, conversationId, candidates) {
    const { clock, connection, settings } = this.#parts;
    const timer = clock.after(
      () => connection.abandon("ack_timeout", "Bright did not acknowledge in time."),
      settings().ackTimeoutMs,
    );
    this.#inFlight.set(requestId, {
      channelAccountId,
      conversationId,
      candidates,
      timer,
    });
  }

  /**
   * Takes an ACK: each result by its exact candidate key while that is pending (OT-18).
   *
   * @param {ObservationAck} ack
   */
  async acknowledge(ack) {
    const { channelAccountId, conversationId } = ack;
    const key = conversationKey(channelAccountId, conversationId);
    const batch =
      ack.requestId === null ? undefined : this.#inFlight.get(ack.requestId);
    const results = ack.results.filter((result) => result.status !== "retry");
    const isAsked = results.length < ack.results.length;
    try {
      const applied = await this.#apply(channelAccountId, conversationId, results);
      if (isAsked) this.#cool(key, Infinity);
      else this.#cooling.forget(key);
      this.#parts.applied(applied);
    } catch (error) {
      this.#cool(key, Infinity); // the store failed, so it is sent again, but not at once
      throw error;
    } finally {
      if (batch !== undefined && ack.requestId !== null) this.#landed(ack.requestId);
      this.wake();
    }
  }

  /**
   * @param {string} channelAccountId
   * @param {string} conversationId
   * @param {ObservationAck["results"]} results
   */
  async #apply(channelAccountId, conversationId, results) {
    const { clock, database } = this.#parts;
    const nowMs = clock.now();
    const prepared = [];
    for (const result of results) {
      const { candidateKey, messageId, sequence, code } = result;
      const status = /** @type {"confirmed" | "conflict" | "rejected"} */ (
        result.status
      );
      const ifConflict =
        status === "conflict"
          ? await anomalyRecord(
              { code: "conflict", messageId, observed: { messageId, at: "bright" } },
              { channelAccountId, conversationId, surface: "bright", nowMs },
            )
          : null;
      prepared.push({ candidateKey, messageId, status, sequence, code, ifConflict });
    }
    return applyResults(database, channelAccountId, conversationId, prepared, nowMs);
  }

  /**
   * Takes an error that answers a batch.
   *
   * @param {WsError} error
   * @returns {Promise<boolean>} false: it answers no batch of ours
   */
  async refuse(error) {
    const batch =
      error.requestId === null ? undefined : this.#inFlight.get(error.requestId);
    if (batch === undefined || error.requestId === null) return false;
    const key = conversationKey(batch.channelAccountId, batch.conversationId);
    try {
      if (error.code === "out_of_scope") this.#foreign.add(batch.channelAccountId);
      else if (error.retryable) this.#cool(key, Infinity);
      else if (batch.candidates.length > 1)
        this.#cool(key, batch.candidates.length / 2);
      else await this.#park(batch.candidates[0], error.code);
    } finally {
      this.#landed(error.requestId);
      this.wake();
    }
    return true;
  }

  /**
   * Puts aside what can never be taken, where it blocks nothing and stays visible.
   *
   * @param {CandidateRecord} candidate
   * @param {string} code
   */
  async #park(candidate, code) {
    const { candidateKey, messageId, channelAccountId, conversationId } = candidate;
    const { clock, database } = this.#parts;
    const result = {
      candidateKey,
      messageId,
      status: /** @type {const} */ ("rejected"),
      code,
    };
    this.#parts.applied(
      await applyResults(
        database,
        channelAccountId,
        conversationId,
        [result],
        clock.now(),
      ),
    );
    this.#again = true;
  }

  /** @param {string} requestId */
  #landed(requestId) {
    const batch = this.#inFlight.get(requestId);
    if (batch === undefined) return;
    this.#parts.clock.cancel(batch.timer);
    this.#inFlight.delete(requestId);
    this.#busy.delete(conversationKey(batch.channelAccountId, batch.conversationId));
  }

  /**
   * @param {string} key
   * @param {number} maxMessages
   */
  #cool(key, maxMessages) {
    this.#wakeIn(this.#cooling.cool(key, maxMessages));
  }

  /**
   * The earliest of the wakes asked for is kept; the others follow from it.
   *
   * @param {number} delayMs
   */
  #wakeIn(delayMs) {
    const { clock } = this.#parts;
    const dueMs = clock.steady() + delayMs;
    if (this.#wakeAtMs !== null && this.#wakeAtMs <= dueMs) return;
    clock.cancel(this.#timer);
    this.#wakeAtMs = dueMs;
    this.#timer = clock.after(() => {
      this.#wakeAtMs = null;
      this.wake();
    }, delayMs);
  }
}
