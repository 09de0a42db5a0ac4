// Completion claims and anchors (OT-43, OT-50, OT-51). A claim is sent when a conversation's
// history is at its end and everything valid is confirmed; only an anchor that matches it
// exactly completes the conversation. A socket that took the claim proves nothing.

import { conversationKey, messageKey } from "../shared/keys.js";
import {
  checkpointAt,
  checkpointsOf,
  readBootstraps,
  updateCheckpoint,
} from "../store/checkpoints.js";
import { done } from "../store/database.js";
import { reoffer, stillPending } from "../store/deliveries.js";
import { reofferLedgers } from "../store/ledger-reoffers.js";
import { CANDIDATES, CHECKPOINTS, MESSAGES } from "../store/steps.js";

/** Conversations told in one frame. */
const DISCOVERY_CHUNK = 200;

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../shared/frames.js").Anchor} Anchor */

export class Claims {
  /** @type {Map<string, {latestMessageId: string, sentAtMs: number}>} on this connection */
  #sent = new Map();
  /** @type {Map<string, {account: string, conversation: string, dueMs: number}>} claims
   *     without an answer, in the order in which they are to be said again */
  #unanswered = new Map();
  /** @type {number | undefined} */
  #timer;
  /** @type {Set<string>} conversations offered again on this connection */
  #offered = new Set();
  /** @type {Set<string>} conversations found behind on this connection */
  #behind = new Set();
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {(channelAccountId: string, conversationId: string) => void} parts.reoffered
   *     what Bright had of the conversation is pending again
   * @param {(channelAccountId: string) => void} parts.behind a history has to be walked
   *     again
   * @param {(checkpoint: CheckpointRecord) => void} parts.completed
   * @param {(error: unknown) => void} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** A new connection: nothing was claimed on it yet. */
  reset() {
    this.halt();
    this.#sent.clear();
    this.#offered.clear();
    this.#behind.clear();
  }

  /** The connection is gone: nothing is said again on it. */
  halt() {
    this.#parts.clock.cancel(this.#timer);
    this.#timer = undefined;
    this.#unanswered.clear();
  }

  /**
   * Claims one conversation when it may be claimed.
   *
   * @param {string} channelAccountId
   * @param {string} conversationId
   * @returns {Promise<void>}
   */
  async consider(channelAccountId, conversationId) {
    const { clock, connection, database, settings } = this.#parts;
    if (connection.welcome?.accounts.includes(channelAccountId) !== true) return;
    const checkpoint = await claimable(database, channelAccountId, conversationId);
    if (checkpoint === null) return;
    if (checkpoint.latestMessageId === null) {
      // Nothing valid is in it, so there is nothing to anchor; that is how it ends.
      await updateCheckpoint(database, channelAccountId, conversationId, (seen) =>
        seen.latestMessageId === null && seen.result === null
          ? { ...seen, result: "no_valid_messages" }
          : null,
      );
      return;
    }
    const { key, latestMessageId, latestMessageAtMs } = checkpoint;
    const before = this.#sent.get(key);
    const isRecent =
      before?.latestMessageId === latestMessageId &&
      clock.steady() - before.sentAtMs < settings().claimRetryMs;
    if (isRecent) return;
    const isSent = connection.send({
      type: "sync.complete",
      channelAccountId,
      conversationId,
      latestMessageId,
      latestMessageAtMs: latestMessageAtMs ?? 0,
    });
    if (!isSent) return;
    this.#sent.set(key, { latestMessageId, sentAtMs: clock.steady() });
    this.#awaitAnswer(key, channelAccountId, conversationId);
    // Only this is saved: the phase stays `uploading` until the anchor comes (OT-50).
    await updateCheckpoint(database, channelAccountId, conversationId, (seen) =>
      seen.latestMessageId === latestMessageId && seen.phase === "uploading"
        ? { ...seen, completionSent: true }
        : null,
    );
  }

  /**
   * @param {string} key
   * @param {string} account
   * @param {string} conversation
   */
  #awaitAnswer(key, account, conversation) {
    const { clock, settings } = this.#parts;
    const dueMs = clock.steady() + settings().claimRetryMs;
    this.#unanswered.delete(key); // so that it stands last
    this.#unanswered.set(key, { account, conversation, dueMs });
    this.#watch();
  }

  /** One timer for all of them: that of the claim that was said first. */
  #watch() {
    const { clock, failed } = this.#parts;
    const [first] = this.#unanswered.values();
    if (first === undefined || this.#timer !== undefined) return;
    this.#timer = clock.after(
      () => {
        this.#timer = undefined;
        this.#sayAgain().catch(failed);
      },
      Math.max(0, first.dueMs - clock.steady()),
    );
  }

  /** Nobody has answered: said again where it may still be said (OT-50, OT-51). */
  async #sayAgain() {
    const { clock } = this.#parts;
    const nowMs = clock.steady();
    const due = Array.from(this.#unanswered).filter(([, { dueMs }]) => dueMs <= nowMs);
    for (const [key] of due) this.#unanswered.delete(key);
    this.#watch();
    for (const [, { account, conversation }] of due) {
      await this.consider(account, conversation);
    }
  }

  /**
   * Claims again what has no anchor yet, over all conversations of the accounts (OT-51).
   *
   * @param {string[]} accounts
   * @returns {Promise<void>}
   */
  async considerAll(accounts) {
    for (const account of accounts) {
      for await (const page of checkpointsOf(this.#parts.database, account)) {
        for (const checkpoint of page) {
          const isOpen = checkpoint.phase === "uploading" && checkpoint.historyComplete;
          if (isOpen) await this.consider(account, checkpoint.conversationId);
        }
      }
    }
  }

  /**
   * Takes anchors: the only evidence that a conversation is complete (OT-50).
   *
   * @param {Anchor[]} anchors
   * @returns {Promise<void>}
   */
  async anchored(anchors) {
    for (const anchor of anchors) {
      const { channelAccountId, conversationId, latestMessageId } = anchor;
      const key = conversationKey(channelAccountId, conversationId);
      const claimed = this.#sent.get(key)?.latestMessageId;
      const isAnswer = claimed === latestMessageId;
      if (isAnswer) {
        this.#sent.delete(key);
        this.#unanswered.delete(key);
      }
      const checkpoint = await complete(this.#parts.database, anchor);
      if (checkpoint !== null) this.#parts.completed(checkpoint);
      // Facts came between the claim and its answer: as soon as they are confirmed, again.
      else if (isAnswer) await this.consider(channelAccountId, conversationId);
      else if (claimed !== undefined) await this.#fallBehind(anchor);
    }
  }

  /**
   * Another device has proven a message that this one has never seen: no claim of this
   * side can match that anchor, so the history is walked again, once on a connection.
   *
   * @param {Anchor} anchor
   * @returns {Promise<boolean>} false: the anchor's message is known here
   */
  async #fallBehind(anchor) {
    const { channelAccountId, conversationId } = anchor;
    const key = conversationKey(channelAccountId, conversationId);
    if (!(await isUnknown(this.#parts.database, anchor))) return false;
    if (this.#behind.has(key)) return true;
    const marked = await updateCheckpoint(
      this.#parts.database,
      channelAccountId,
      conversationId,
      (seen) => (seen.historyComplete ? { ...seen, isBehind: true } : null),
    );
    this.#behind.add(key);
    if (marked !== null) this.#parts.behind(channelAccountId);
    return true;
  }

  /**
   * Takes what Bright knows of discovered conversations: where it misses the anchor that
   * this side has as proven, the conversation's facts go again; where it has one that was
   * never seen here, the history is walked again.
   *
   * @param {string} channelAccountId
   * @param {{conversationId: string, anchor: {latestMessageId: string} | null}[]} known
   * @returns {Promise<void>}
   */
  async compare(channelAccountId, known) {
    const { database } = this.#parts;
    const keys = known.map((one) =>
      conversationKey(channelAccountId, one.conversationId),
    );
    /** @type {(CheckpointRecord | undefined)[]} */
    const checkpoints = await database.read([CHECKPOINTS], (transaction) => {
      return Promise.all(keys.map((key) => checkpointAt(transaction, key)));
    });
    for (const [index, checkpoint] of checkpoints.entries()) {
      if (checkpoint?.phase !== "completed") continue;
      const anchor = known[index].anchor?.latestMessageId ?? null;
      if (anchor === checkpoint.latestMessageId) continue;
      const { conversationId } = checkpoint;
      const isBehind =
        anchor !== null &&
        (await this.#fallBehind({
          channelAccountId,
          conversationId,
          latestMessageId: anchor,
        }));
      if (!isBehind) await this.offerAgain(channelAccountId, conversationId);
    }
  }

  /**
   * Sends a conversation's facts again, once on a connection.
   *
   * @param {string} channelAccountId
   * @param {string} conversationId
   * @returns {Promise<void>}
   */
  async offerAgain(channelAccountId, conversationId) {
    const key = conversationKey(channelAccountId, conversationId);
    if (this.#offered.has(key)) return;
    this.#sent.delete(key);
    await reoffer(this.#parts.database, channelAccountId, conversationId);
    await reofferLedgers(this.#parts.database, channelAccountId, conversationId);
    this.#offered.add(key); // not before: what the store refused is asked for again
    this.#parts.reoffered(channelAccountId, conversationId);
  }

  /**
   * Tells Bright every conversation of an account, in bounded frames (OT-51).
   *
   * @param {string} channelAccountId
   * @param {Map<string, string>} asked filled with the account of each request id
   * @returns {Promise<void>}
   */
  async discoverAll(channelAccountId, asked) {
    const { database } = this.#parts;
    for await (const page of checkpointsOf(database, channelAccountId)) {
      const keys = page.map((checkpoint) => checkpoint.key);
      const listed = await readBootstraps(database, keys);
      const conversations = page.map((checkpoint, index) => ({
        ...checkpoint,
        title: listed[index]?.title,
      }));
      await this.discover(channelAccountId, conversations, asked);
    }
  }

  /**
   * @param {string} channelAccountId
   * @param {{conversationId: string, latestMessageAtMs: number | null, title?: string}[]} conversations
   * @param {Map<string, string>} asked
   */
  async discover(channelAccountId, conversations, asked) {
    const { connection } = this.#parts;
    for (let start = 0; start < conversations.length; start += DISCOVERY_CHUNK) {
      const requestId = connection.nextRequestId();
      const isSent = connection.send({
        type: "conversation.discovered",
        requestId,
        channelAccountId,
        conversations: conversations
          .slice(start, start + DISCOVERY_CHUNK)
          .map((one) => ({
            conversationId: one.conversationId,
            latestMessageAtMs: one.latestMessageAtMs ?? 0,
            ...(one.title === undefined ? {} : { title: one.title }),
          })),
      });
      if (isSent) asked.set(requestId, channelAccountId);
    }
  }
}

/**
 * The checkpoint when the conversation may be claimed now (OT-43); else null.
 *
 * @param {import("../store/database.js").Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {Promise<CheckpointRecord | null>}
 */
function claimable(database, channelAccountId, conversationId) {
  const key = conversationKey(channelAccountId, conversationId);
  return database.read([CHECKPOINTS, CANDIDATES], async (transaction) => {
    /** @type {CheckpointRecord | undefined} */
    const checkpoint = await checkpointAt(transaction, key);
    if (checkpoint === undefined || !checkpoint.historyComplete) return null;
    if (checkpoint.phase !== "uploading" || checkpoint.anchorState === "not_found") {
      return null;
    }
    if (checkpoint.isBehind === true) return null; // something older may be missing here
    const pending = await stillPending(transaction, channelAccountId, conversationId);
    return pending === 0 ? checkpoint : null;
  });
}

/**
 * @param {import("../store/database.js").Database} database
 * @param {Anchor} anchor
 * @returns {Promise<boolean>} its message was never seen here
 */
function isUnknown(database, anchor) {
  const { channelAccountId, conversationId, latestMessageId } = anchor;
  const key = messageKey(channelAccountId, conversationId, latestMessageId);
  return database.read([MESSAGES], async (transaction) => {
    const found = await done(transaction.objectStore(MESSAGES).getKey(key));
    return found === undefined;
  });
}

/**
 * @param {import("../store/database.js").Database} database
 * @param {Anchor} anchor
 * @returns {Promise<CheckpointRecord | null>} completed; null when the anchor proves
 *     nothing that this side has claimed
 */
function complete(database, anchor) {
  const { channelAccountId, conversationId, latestMessageId } = anchor;
  const key = conversationKey(channelAccountId, conversationId);
  return database.write([CHECKPOINTS, CANDIDATES], async (transaction) => {
    const store = transaction.objectStore(CHECKPOINTS);
    /** @type {CheckpointRecord | undefined} */
    const before = await checkpointAt(transaction, key);
    const isProof =
      before !== undefined &&
      before.phase === "uploading" &&
      before.historyComplete &&
      before.completionSent &&
      before.latestMessageId === latestMessageId;
    if (!isProof) return null;
    const pending = await stillPending(transaction, channelAccountId, conversationId);
    if (pending > 0) return null;
    /** @type {CheckpointRecord} */
    const after = {
      ...before,
      phase: "completed",
      anchorMessageId: latestMessageId,
      anchorState: before.syncMode === "incremental" ? "met" : before.anchorState,
      result: null,
    };
    store.put(after);
    return after;
  });
}
