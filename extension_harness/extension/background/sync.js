// The sync coordinator: reads a page's conversation list, then walks each conversation's
// history back, page by page, from where its checkpoint says (OT-44, OT-70). It goes on
// only while Bright is connected and takes the account (OT-60).

import { describeError } from "../shared/errors.js";
import { conversationKey } from "../shared/keys.js";
import { nextPosition } from "../shared/paging.js";
import { checkpointsOf, updateCheckpoint } from "../store/checkpoints.js";
import { Lists } from "./lists.js";
import { CLOSED_DOORS } from "./health.js";
import { rebuild } from "./rereading.js";
import { Turns } from "./turns.js";
import { begun, isLie, needsWalk, showsAny, walkOrder } from "./walks.js";

/** Conversations that one round takes on; the next round takes the rest. */
const MAX_ROUND = 5_000;
/** Conversations that a page fails for, one after the other, before a round ends. */
const MAX_FAILURES = 3;

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../store/checkpoints.js").ListedConversation} ListedConversation */
/** @typedef {import("./pages.js").Page} Page */

export class Sync {
  /** @type {Set<string>} accounts whose round is going on */
  #running = new Set();
  /** @type {Set<string>} accounts that were asked for again meanwhile */
  #again = new Set();
  /** What writes of one conversation's walk, and what begins it anew, take turns. */
  #turns = new Turns();
  /** @type {Map<string, number>} how often a conversation was begun anew */
  #rebuilds = new Map();
  #lists;
  #parts;

  /**
   * @param {object} parts
   * @param {import("../store/database.js").Database} parts.database
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./recorder.js").Recorder} parts.recorder
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./connection.js").Clock} parts.clock
   * @param {() => import("../shared/settings.js").Settings} parts.settings
   * @param {(channelAccountId: string, conversations: ListedConversation[]) => Promise<void>} parts.listed
   *     told of each part of a list after it is stored
   * @param {(channelAccountId: string, conversations: string[]) => void} parts.met
   * @param {(channelAccountId: string) => void} parts.profiled
   * @param {(channelAccountId: string, conversationId: string) => Promise<void>} parts.historyEnded
   * @param {(error: unknown) => void} parts.failed
   * @param {import("./coverage.js").Coverage} parts.coverage
   * @param {import("./health.js").Health} parts.health
   */
  constructor(parts) {
    this.#parts = parts;
    this.#lists = new Lists({
      ...parts,
      again: (account) => this.wake(account),
    });
  }

  /** True while any history is being walked, or an open page's list was not read yet. */
  get hasWork() {
    return this.#running.size > 0 || this.#lists.isAnyUnread;
  }

  /**
   * Starts a round for the account, or another one after the present.
   *
   * @param {string} channelAccountId
   */
  wake(channelAccountId) {
    if (this.#running.has(channelAccountId)) {
      this.#again.add(channelAccountId);
      return;
    }
    if (!this.#mayRun(channelAccountId)) return;
    this.#running.add(channelAccountId);
    void this.#rounds(channelAccountId);
  }

  /**
   * Reads the list again although it is not due; for a page that is new.
   *
   * @param {Page} page
   */
  relist(page) {
    this.#lists.forget(page);
    this.wake(page.channelAccountId);
  }

  /**
   * Begins a conversation anew: what was recorded of it goes, and its history is walked as
   * if it had never been met (OT-20). A walk that was under way gives up its place.
   *
   * @param {string} account
   * @param {string} conversationId
   * @returns {Promise<import("../store/rebuild.js").Rebuilt | null>} null: not known here
   * @throws {import("../shared/errors.js").StoreError}
   */
  async rebuild(account, conversationId) {
    const { clock, database } = this.#parts;
    const key = conversationKey(account, conversationId);
    const gone = await this.#turns.take(key, () => {
      this.#rebuilds.set(key, (this.#rebuilds.get(key) ?? 0) + 1);
      return rebuild(database, account, conversationId, clock.now());
    });
    this.#parts.met(account, [conversationId]);
    this.wake(account);
    return gone;
  }

  /** @param {string} account */
  #mayRun(account) {
    const { connection, pages } = this.#parts;
    return (
      connection.welcome?.accounts.includes(account) === true &&
      pages.of(account) !== undefined
    );
  }

  /** @param {string} account */
  async #rounds(account) {
    try {
      do {
        this.#again.delete(account);
        await this.#round(account);
      } while (this.#again.has(account) && this.#mayRun(account));
    } catch (error) {
      this.#parts.failed(error); // the next alarm, page or observation tries again
    } finally {
      this.#running.delete(account); // at once: whoever wakes it now must not be unheard
    }
  }

  /** @param {string} account */
  async #round(account) {
    const { coverage, pages } = this.#parts;
    const open = pages.all.filter((page) => page.channelAccountId === account);
    // One question tells whether a page lets somebody in again; more would be too many.
    if (this.#isShut(account)) open.forEach((page) => this.#lists.forget(page));
    if (await this.#lists.read(account)) await coverage.listed(account, open);
    let failures = 0;
    if (this.#isShut(account)) return this.#lists.rest(account);
    const { found, throughMs } = await this.#unfinished(account);
    for (const conversationId of found) {
      if (!this.#mayRun(account)) return;
      const isAnswered = await this.#walk(account, conversationId, throughMs);
      failures = isAnswered ? 0 : failures + 1;
      // A page that fails for one conversation after the other is dead: not all of them
      // are asked for nothing.
      if (failures >= MAX_FAILURES || this.#isShut(account)) return;
    }
  }

  /** @param {string} account whose page wants a login, or a person */
  #isShut(account) {
    const { health, pages } = this.#parts;
    const page = pages.of(account);
    return page !== undefined && health.isClosed(page.tabId);
  }

  /**
   * The conversations whose history has to be walked, in `walkOrder`, and the latest time
   * that the chat service has given in any of the account's.
   *
   * @param {string} account
   * @returns {Promise<{found: string[], throughMs: number}>}
   */
  async #unfinished(account) {
    /** @type {CheckpointRecord[]} */
    const found = [];
    let throughMs = 0;
    for await (const page of checkpointsOf(this.#parts.database, account)) {
      for (const seen of page)
        throughMs = Math.max(throughMs, seen.latestMessageAtMs ?? 0);
      found.push(...page.filter(needsWalk));
      if (found.length >= MAX_ROUND) break;
    }
    found.sort(walkOrder);
    return { found: found.map((checkpoint) => checkpoint.conversationId), throughMs };
  }

  /**
   * Walks one conversation to the end of its history, or to where it cannot go on.
   *
   * @param {string} account
   * @param {string} conversationId
   * @param {number} throughMs
   * @returns {Promise<boolean>} false: the page failed
   */
  async #walk(account, conversationId, throughMs) {
    const { settings } = this.#parts;
    const key = conversationKey(account, conversationId);
    const rebuilds = this.#rebuilds.get(key);
    const checkpoint = await updateCheckpoint(
      this.#parts.database,
      account,
      conversationId,
      (before) => begun(before, throughMs),
    );
    if (checkpoint === null) return true;
    /** @type {import("../shared/paging.js").Position} */
    let position = {
      cursor: checkpoint.nextTimeStamp,
      count: settings().historyPageSize,
      isPastEdge: false,
    };
    while (this.#mayRun(account)) {
      const page = await this.#ask(account, conversationId, position);
      if (page === null) return false;
      if (isLie(page, position, checkpoint)) {
        const lying = this.#parts.pages.of(account);
        if (lying !== undefined) this.#parts.health.lied(lying);
        await this.#failed(account, conversationId, "page_empty");
        return false;
      }
      const asked = position;
      const next = await this.#turns.take(key, async () => {
        // Begun anew meanwhile, what came before this page is gone: it is no place to go on.
        if (this.#rebuilds.get(key) !== rebuilds) return null;
        return this.#take(account, conversationId, asked, page);
      });
      if (next === null) return true;
      position = next;
    }
    return true;
  }

  /**
   * One page of history, asked at the pace that the page is used to; null when it cannot be
   * had now, with the reason in the checkpoint.
   *
   * @param {string} account
   * @param {string} conversationId
   * @param {import("../shared/paging.js").Position} position
   */
  async #ask(account, conversationId, position) {
    const { clock, pages, settings } = this.#parts;
    /** @type {{code: string, message: string} | null} */
    let trouble = null;
    for (let attempt = 0; attempt < settings().pageAttempts; attempt += 1) {
      const { historyPaceMs, pageTimeoutMs } = settings();
      await new Promise((resolve) => {
        clock.after(() => resolve(undefined), historyPaceMs * 2 ** attempt);
      });
      const page = pages.of(account);
      if (page === undefined) return null;
      try {
        const { cursor, count } = position;
        const body = { conversationId, cursor, count, timeoutMs: pageTimeoutMs / 3 };
        const answer = (await pages.ask(page, "history", body, pageTimeoutMs)).page;
        if (showsAny(answer, conversationId)) this.#parts.health.lives(page);
        return answer;
      } catch (error) {
        trouble = describeError(error);
        if (CLOSED_DOORS.includes(trouble.code)) break;
      }
    }
    await this.#failed(account, conversationId, trouble?.code ?? "page_failed");
    return null;
  }

  /**
   * @param {string} account
   * @param {string} conversationId
   * @param {string} result
   */
  #failed(account, conversationId, result) {
    const failedAtMs = this.#parts.clock.now();
    return this.#note(account, conversationId, result, { failedAtMs });
  }

  /**
   * Says in the checkpoint why the conversation does not go on.
   *
   * @param {string} account
   * @param {string} conversationId
   * @param {string} result
   * @param {{failedAtMs?: number}} [more]
   */
  #note(account, conversationId, result, more = {}) {
    const { database } = this.#parts;
    return updateCheckpoint(database, account, conversationId, (before) => ({
      ...before,
      ...more,
      result,
    }));
  }

  /**
   * Stores a page with the position that follows from it, and tells Bright (OT-44).
   *
   * @param {string} account
   * @param {string} conversationId
   * @param {import("../shared/paging.js").Position} asked
   * @param {any} page as the bridge gave it
   */
  async #take(account, conversationId, asked, page) {
    const { connection, recorder, settings } = this.#parts;
    const { historyPageSize, historyMaxPageSize } = settings();
    /** @type {import("../shared/records.js").Observation[]} */
    const observations = Array.isArray(page.observations) ? page.observations : [];
    const decision = nextPosition(
      asked,
      {
        rows: observations.length,
        oldestMs: oldestOf(observations, conversationId),
        reportedNext: page.reportedNext ?? null,
        hasMore: page.hasMore ?? null,
      },
      { pageSize: historyPageSize, maxPageSize: historyMaxPageSize },
    );
    const [recorded] = (
      await recorder.record({
        channelAccountId: account,
        conversationId,
        observations,
        page: {
          askedWith: asked.cursor,
          nextTimeStamp: decision.isComplete
            ? null
            : (decision.next?.cursor ?? asked.cursor),
          historyComplete: decision.isComplete,
        },
      })
    ).slice(-1);
    if (decision.isStuck) await this.#stuck(account, conversationId, asked, decision);
    const { checkpoint } = recorded;
    connection.send({
      type: "history.progress",
      channelAccountId: account,
      conversationId,
      nextTimeStamp: checkpoint.nextTimeStamp,
      historyComplete: checkpoint.historyComplete,
      latestMessageAtMs: checkpoint.latestMessageAtMs,
      page: checkpoint.pages,
    });
    if (checkpoint.historyComplete) {
      await this.#parts.historyEnded(account, conversationId);
      // Something was seen meanwhile before which there may be more: not only with an alarm.
      if (needsWalk(checkpoint)) this.wake(account);
      return null;
    }
    return decision.next;
  }

  /**
   * @param {string} account
   * @param {string} conversationId
   * @param {import("../shared/paging.js").Position} asked
   * @param {import("../shared/paging.js").Decision} decision
   */
  async #stuck(account, conversationId, asked, decision) {
    const code = "history_cursor_stuck";
    const detail = { cursor: asked.cursor };
    await this.#parts.recorder.note(account, conversationId, code, detail);
    if (decision.next === null) await this.#note(account, conversationId, code);
  }
}

/**
 * @param {import("../shared/records.js").Observation[]} observations
 * @param {string} conversationId rows of another conversation say nothing about this one
 * @returns {number | null}
 */
function oldestOf(observations, conversationId) {
  let oldest = null;
  for (const seen of observations) {
    const time = seen?.sentAtMs;
    if (typeof time !== "number" || seen.conversationId !== conversationId) continue;
    oldest = oldest === null ? time : Math.min(oldest, time);
  }
  return oldest;
}
