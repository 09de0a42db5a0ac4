// The uplink of the ledgers beside the messages: profiles, rendered cards, buyer facts. What
// goes up is read from the store alone, one request of an account and ledger at a time; no
// batch of messages waits for any of it (OT-87).
//
// There is no timer without an end (OT-82): after a few tries in vain a ledger rests until
// the next connection or page, or until there is something new to tell.

import { fullJitter } from "../shared/backoff.js";

/** Tries of one account's ledger in vain, before it rests. */
export const MAX_ATTEMPTS = 5;
const BUFFER_LOOK_MS = 50;
/** Refusals that the entries themselves are the reason of. */
const OF_THE_ENTRIES = ["invalid_frame", "malformed_json", "batch_too_large"];
/** Refusals of exactly what the request told (OT-84). */
const OF_THE_REQUEST = ["profile_observed_at_future", "facts_observed_at_future"];

/** @typedef {import("../shared/frames.js").WsError} WsError */
/** @typedef {import("../shared/frames.js").LedgerAck} LedgerAck */

/**
 * @typedef {object} Bounds of one request
 * @property {string} requestId
 * @property {number} most entries
 * @property {number} maxFrameBytes
 */

/**
 * What the three differ in. A part is whatever a ledger needs to know an entry again.
 *
 * @typedef {object} Ledger
 * @property {string} name
 * @property {LedgerAck["type"]} ack
 * @property {(channelAccountId: string, bounds: Bounds) =>
 *     Promise<{frame: string, parts: any[], tooLarge: any} | null>} next null: nothing is
 *     pending
 * @property {(ack: any) => Promise<number>} acknowledge resolves when it is on disk, with
 *     how many entries are settled by it (OT-83)
 * @property {(channelAccountId: string, parts: any[], code: string) => Promise<unknown>} refuse
 *     these can never be taken
 * @property {(channelAccountId: string) => Promise<boolean>} isAnyPending
 * @property {(channelAccountId: string, conversationId: string) => void} [observed]
 * @property {(channelAccountId: string, conversationIds: string[]) => void} [met] these have
 *     a checkpoint only now
 * @property {() => void} [reset] what is pending has to be looked for from the start
 */

/**
 * @typedef {object} Lane one ledger of one account, on the present connection
 * @property {Ledger} ledger
 * @property {string} account
 * @property {{requestId: string, parts: any[]} | null} inFlight
 * @property {number | undefined} timer of the answer, or of the next try
 * @property {number} attempts in vain
 * @property {number} most entries of the next request; fewer after a refusal
 * @property {boolean} isResting
 * @property {boolean} isPumping
 * @property {boolean} again
 */

export class LedgerUplink {
  /** @type {Map<string, Lane>} */
  #lanes = new Map();
  #parts;

  /**
   * @param {object} parts
   * @param {Ledger[]} parts.ledgers
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => number} parts.random
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {() => void} parts.idle there is nothing to do, or nothing that can be done now
   * @param {(error: unknown) => void} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Bright has welcomed us: all that is pending of its accounts goes (again). */
  start() {
    this.halt();
    const accounts = this.#parts.connection.welcome?.accounts ?? [];
    for (const account of accounts) {
      for (const ledger of this.#parts.ledgers) {
        this.#lanes.set(laneKey(ledger.name, account), newLane(ledger, account));
      }
    }
    for (const { reset } of this.#parts.ledgers) reset?.();
    this.#pumpAll();
  }

  /** The connection is gone: what was in flight is unanswered and pending. */
  halt() {
    for (const lane of this.#lanes.values()) this.#parts.clock.cancel(lane.timer);
    this.#lanes.clear();
  }

  /**
   * Something is on disk that Bright does not know yet.
   *
   * @param {string} name of the ledger
   * @param {string} account
   * @param {string} [conversation] the one that it is about, where it is one
   */
  observed(name, account, conversation) {
    const ledger = this.#parts.ledgers.find((each) => each.name === name);
    if (conversation !== undefined) ledger?.observed?.(account, conversation);
    this.#tryOnce(name, account);
  }

  /**
   * Conversations have a checkpoint only now: what is found by it may wait for Bright.
   *
   * @param {string} account
   * @param {string[]} conversations
   */
  met(account, conversations) {
    if (conversations.length === 0) return;
    for (const { met, name } of this.#parts.ledgers) {
      if (met === undefined) continue;
      met(account, conversations);
      this.#tryOnce(name, account);
    }
  }

  /**
   * @param {string} name of the ledger
   * @param {string} account
   */
  #tryOnce(name, account) {
    const lane = this.#lanes.get(laneKey(name, account));
    if (lane === undefined) return;
    lane.isResting = false; // for one more try
    void this.#pump(lane);
  }

  /**
   * A page is new: what rests of its account is tried anew (OT-82).
   *
   * @param {string} account
   */
  retry(account) {
    for (const lane of this.#lanes.values()) {
      if (lane.account !== account) continue;
      lane.isResting = false;
      lane.attempts = 0;
      void this.#pump(lane);
    }
  }

  /**
   * Whether an account has anything to tell that it would be of use to be connected for.
   *
   * @param {string} account
   * @returns {Promise<boolean>}
   */
  async isUnfinished(account) {
    const isOnline = this.#lanes.size > 0;
    for (const ledger of this.#parts.ledgers) {
      const lane = this.#lanes.get(laneKey(ledger.name, account));
      if (isOnline && (lane === undefined || lane.isResting)) continue;
      if (await ledger.isAnyPending(account)) return true;
    }
    return false;
  }

  /**
   * Takes an ACK, also one that comes late: it settles exactly what it names.
   *
   * @param {LedgerAck} ack
   */
  async acknowledge(ack) {
    const ledger = this.#parts.ledgers.find((each) => each.ack === ack.type);
    if (ledger === undefined) return;
    const lane = this.#lanes.get(laneKey(ledger.name, ack.channelAccountId));
    const isAnswer = lane?.inFlight && lane.inFlight.requestId === ack.requestId;
    let settled = 0;
    try {
      settled = await ledger.acknowledge(ack);
    } finally {
      if (lane !== undefined && isAnswer) this.#answered(lane, settled > 0);
    }
  }

  /**
   * Takes an error that answers a request of a ledger.
   *
   * @param {WsError} error
   * @returns {Promise<boolean>} false: it answers none of them
   */
  async refuse({ code, requestId, retryable }) {
    const lane = Array.from(this.#lanes.values()).find(
      (each) => requestId !== null && each.inFlight?.requestId === requestId,
    );
    if (lane === undefined || lane.inFlight === null) return false;
    const { parts } = lane.inFlight;
    const isAlone = parts.length === 1 && OF_THE_ENTRIES.includes(code);
    if (isAlone || OF_THE_REQUEST.includes(code)) {
      try {
        await lane.ledger.refuse(lane.account, parts, code);
      } finally {
        this.#answered(lane, true);
      }
    } else if (OF_THE_ENTRIES.includes(code)) {
      lane.most = Math.ceil(parts.length / 2) / 2; // an answer of use doubles it
      this.#answered(lane, true);
    } else if (retryable) {
      this.#answered(lane, false);
    } else {
      lane.inFlight = null;
      this.#rest(lane);
    }
    return true;
  }

  #pumpAll() {
    for (const lane of Array.from(this.#lanes.values())) void this.#pump(lane);
  }

  /** @param {Lane} lane */
  async #pump(lane) {
    lane.again = true;
    if (lane.isPumping) return;
    lane.isPumping = true;
    try {
      while (lane.again && this.#maySend(lane)) {
        lane.again = false;
        await this.#sendNext(lane);
      }
    } catch (error) {
      this.#parts.failed(error);
      this.#cool(lane);
    } finally {
      lane.isPumping = false;
    }
  }

  /** @param {Lane} lane */
  #maySend(lane) {
    const { connection, settings } = this.#parts;
    const limits = connection.welcome?.limits;
    const isHeld = lane.inFlight !== null || lane.isResting || lane.timer !== undefined;
    if (limits === undefined || isHeld || !this.#isPresent(lane)) return false;
    const all = Array.from(this.#lanes.values());
    const inFlight = all.filter((each) => each.inFlight !== null).length;
    const most = Math.min(limits.maxInFlightBatches, settings().maxInFlightBatches);
    if (inFlight >= most) return false; // whoever is answered wakes all of them
    if (connection.bufferedBytes <= settings().maxBufferedBytes) return true;
    this.#pause(lane, BUFFER_LOOK_MS);
    return false;
  }

  /** @param {Lane} lane */
  #isPresent(lane) {
    return this.#lanes.get(laneKey(lane.ledger.name, lane.account)) === lane;
  }

  /** @param {Lane} lane */
  async #sendNext(lane) {
    const { clock, connection, settings } = this.#parts;
    const limits = connection.welcome?.limits;
    if (limits === undefined) return;
    const requestId = connection.nextRequestId();
    const next = await lane.ledger.next(lane.account, {
      requestId,
      most: Math.min(limits.maxBatchMessages, settings().maxBatchMessages, lane.most),
      maxFrameBytes: limits.maxFrameBytes,
    });
    if (!this.#maySend(lane)) return;
    if (next === null) return this.#settleIdle();
    if (next.tooLarge !== null) {
      await lane.ledger.refuse(lane.account, [next.tooLarge], "too_large");
      lane.again = true;
      return;
    }
    if (!connection.send(next.frame)) return;
    lane.inFlight = { requestId, parts: next.parts };
    lane.timer = clock.after(
      () => this.#answered(lane, false), // not heard of; the ACK may still come
      settings().ackTimeoutMs,
    );
    this.#toTheEnd(lane);
  }

  /** @param {Lane} lane which others go before, where not all have room */
  #toTheEnd(lane) {
    const key = laneKey(lane.ledger.name, lane.account);
    this.#lanes.delete(key);
    this.#lanes.set(key, lane);
  }

  /**
   * @param {Lane} lane
   * @param {boolean} isOfUse false: it has to go again, but not at once, nor for ever
   */
  #answered(lane, isOfUse) {
    this.#parts.clock.cancel(lane.timer);
    lane.timer = undefined;
    lane.inFlight = null;
    if (isOfUse) {
      lane.attempts = 0;
      lane.most *= 2;
    } else {
      this.#cool(lane);
    }
    this.#pumpAll();
  }

  /** @param {Lane} lane */
  #cool(lane) {
    const { random, settings } = this.#parts;
    lane.attempts = Math.min(MAX_ATTEMPTS, lane.attempts + 1);
    if (lane.attempts === MAX_ATTEMPTS) return this.#rest(lane);
    const { backoffCapMs: capMs, retryCoolMs: baseMs } = settings();
    this.#pause(lane, fullJitter(lane.attempts, { baseMs, capMs }, random));
  }

  /**
   * @param {Lane} lane
   * @param {number} delayMs
   */
  #pause(lane, delayMs) {
    if (!this.#isPresent(lane)) return;
    this.#parts.clock.cancel(lane.timer);
    lane.timer = this.#parts.clock.after(() => {
      lane.timer = undefined;
      void this.#pump(lane);
    }, delayMs);
  }

  /** @param {Lane} lane */
  #rest(lane) {
    this.#parts.clock.cancel(lane.timer);
    lane.timer = undefined;
    lane.isResting = true;
    this.#settleIdle();
  }

  #settleIdle() {
    const lanes = Array.from(this.#lanes.values());
    if (lanes.every(({ inFlight }) => inFlight === null)) this.#parts.idle();
  }
}

/**
 * @param {string} name
 * @param {string} account
 */
function laneKey(name, account) {
  return JSON.stringify([name, account]);
}

/**
 * @param {Ledger} ledger
 * @param {string} account
 * @returns {Lane}
 */
function newLane(ledger, account) {
  return {
    ledger,
    account,
    inFlight: null,
    timer: undefined,
    attempts: 0,
    most: Infinity,
    isResting: false,
    isPumping: false,
    again: false,
  };
}
