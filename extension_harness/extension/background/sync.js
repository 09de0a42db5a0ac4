// The sync coordinator: reads a page's conversation list, then walks each conversation's
// history back, page by page, from where its checkpoint says (OT-44, OT-70). It goes on
// only while Bright is connected and takes the account (OT-60).

import { LONGEST_TIMER_MS } from "../shared/backoff.js";
import { describeError } from "../shared/errors.js";
import { nextPosition } from "../shared/paging.js";
import { checkpointsOf, takeList, updateCheckpoint } from "../store/checkpoints.js";
import { newestConfirmedAtMs } from "../store/observations.js";

/** Conversations of a list written in one transaction, and told in one frame. */
const LIST_CHUNK = 200;
/** Conversations that one round takes on; the next round takes the rest. */
const MAX_ROUND = 5_000;
/** First wait before a list that was not whole is read again; it doubles. */
const LIST_AGAIN_MS = 500;
/** After so many reads an incomplete list is no reason of its own to stay connected. */
const MAX_TRIES = 8;

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */
/** @typedef {import("../store/checkpoints.js").ListedConversation} ListedConversation */
/** @typedef {import("./pages.js").Page} Page */

export class Sync {
  /** @type {Set<string>} accounts whose round is going on */
  #running = new Set();
  /** @type {Set<string>} accounts that were asked for again meanwhile */
  #again = new Set();
  /** @type {Map<string, {readAtMs: number | null, tries: number}>} the list, by page */
  #lists = new Map();
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
   * @param {(channelAccountId: string, conversationId: string) => Promise<void>} parts.historyEnded
   * @param {(error: unknown) => void} parts.failed
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** True while any history is being walked, or an open page's list was not read yet. */
  get hasWork() {
    if (this.#running.size > 0) return true;
    return this.#parts.pages.all.some((page) => {
      const list = this.#lists.get(page.pageId);
      return list === undefined || (list.readAtMs === null && list.tries < MAX_TRIES);
    });
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
    void this.#rounds(channelAccountId).finally(() => {
      this.#running.delete(channelAccountId);
    });
  }

  /**
   * Reads the list again although it is not due; for a page that is new.
   *
   * @param {Page} page
   */
  relist(page) {
    this.#lists.delete(page.pageId);
    this.wake(page.channelAccountId);
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
    do {
      this.#again.delete(account);
      try {
        await this.#round(account);
      } catch (error) {
        this.#parts.failed(error);
        return; // the next alarm, page or observation tries again
      }
    } while (this.#again.has(account) && this.#mayRun(account));
  }

  /** @param {string} account */
  async #round(account) {
    await this.#readList(account);
    for (const conversationId of await this.#unfinished(account)) {
      if (!this.#mayRun(account)) return;
      await this.#walk(account, conversationId);
    }
  }

  /** @param {string} account */
  async #readList(account) {
    const { clock, pages, settings } = this.#parts;
    const page = pages.of(account);
    if (page === undefined) return;
    const before = this.#lists.get(page.pageId) ?? { readAtMs: null, tries: 0 };
    const isFresh =
      before.readAtMs !== null &&
      clock.now() - before.readAtMs < settings().listRefreshMs;
    if (isFresh) return;
    const isWhole = await this.#takeWholeList(account, page);
    const tries = isWhole ? 0 : before.tries + 1;
    this.#forgetGone();
    this.#lists.set(page.pageId, { readAtMs: isWhole ? clock.now() : null, tries });
    // Early in its life a page has only the beginning of its list: soon again, then rarer.
    const delayMs = Math.min(LONGEST_TIMER_MS, LIST_AGAIN_MS * 2 ** tries);
    if (!isWhole) clock.after(() => this.wake(account), delayMs);
  }

  #forgetGone() {
    const open = new Set(this.#parts.pages.all.map((page) => page.pageId));
    for (const pageId of this.#lists.keys()) {
      if (!open.has(pageId)) this.#lists.delete(pageId);
    }
  }

  /**
   * @param {string} account
   * @param {Page} page
   * @returns {Promise<boolean>} false: the page has only a part of its list, or none
   */
  async #takeWholeList(account, page) {
    const { clock, database, listed, pages, settings } = this.#parts;
    const timeoutMs = settings().pageTimeoutMs;
    try {
      const body = { timeoutMs: timeoutMs / 2 };
      const answer = await pages.ask(page, "conversations", body, timeoutMs);
      /** @type {ListedConversation[]} */
      const conversations = answer.conversations.filter(isListed);
      for (let start = 0; start < conversations.length; start += LIST_CHUNK) {
        const chunk = conversations.slice(start, start + LIST_CHUNK);
        await takeList(database, account, chunk, clock.now());
        await listed(account, chunk);
      }
      return answer.isWhole === true;
    } catch (error) {
      this.#parts.failed(error); // what the store knows already can still go on
      return false;
    }
  }

  /**
   * The conversations whose history has to be walked, the latest active first.
   *
   * @param {string} account
   * @returns {Promise<string[]>}
   */
  async #unfinished(account) {
    /** @type {CheckpointRecord[]} */
    const found = [];
    for await (const page of checkpointsOf(this.#parts.database, account)) {
      found.push(...page.filter(needsWalk));
      if (found.length >= MAX_ROUND) break;
    }
    found.sort((left, right) => {
      return (right.latestMessageAtMs ?? 0) - (left.latestMessageAtMs ?? 0);
    });
    return found.map((checkpoint) => checkpoint.conversationId);
  }

  /**
   * Walks one conversation to the end of its history, or to where it cannot go on.
   *
   * @param {string} account
   * @param {string} conversationId
   */
  async #walk(account, conversationId) {
    const { settings } = this.#parts;
    const checkpoint = await this.#begun(account, conversationId);
    if (checkpoint === null) return;
    /** @type {import("../shared/paging.js").Position} */
    let position = {
      cursor: checkpoint.nextTimeStamp,
      count: settings().historyPageSize,
      isPastEdge: false,
    };
    while (this.#mayRun(account)) {
      const page = await this.#ask(account, conversationId, position);
      if (page === null) return;
      const next = await this.#take(account, conversationId, position, page);
      if (next === null) return;
      position = next;
    }
  }

  /**
   * Sets a conversation up for its walk: where it stood, or a new scan when the list says
   * that something happened since the last.
   *
   * @param {string} account
   * @param {string} conversationId
   */
  #begun(account, conversationId) {
    const { database } = this.#parts;
    return updateCheckpoint(database, account, conversationId, (before) => {
      if (!needsWalk(before)) return null;
      const scannedActivityMs = before.latestMessageAtMs;
      if (!before.historyComplete) return { ...before, scannedActivityMs };
      const isIncrement = before.anchorMessageId !== null;
      return {
        ...before,
        scannedActivityMs,
        phase: "paging",
        syncMode: isIncrement ? "incremental" : "full",
        anchorState: isIncrement ? "awaiting" : "none",
        historyComplete: false,
        nextTimeStamp: null,
        completionSent: false,
        result: null,
      };
    });
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
    const { clock, database, pages, settings } = this.#parts;
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
        return (await pages.ask(page, "history", body, pageTimeoutMs)).page;
      } catch (error) {
        trouble = describeError(error);
      }
    }
    await updateCheckpoint(database, account, conversationId, (before) => ({
      ...before,
      result: trouble?.code ?? "page_failed",
    }));
    return null;
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
    const { database, recorder } = this.#parts;
    const code = "history_cursor_stuck";
    await recorder.note(account, conversationId, code, { cursor: asked.cursor });
    if (decision.next !== null) return;
    await updateCheckpoint(database, account, conversationId, (before) => ({
      ...before,
      result: code,
    }));
  }
}

/**
 * @param {CheckpointRecord} checkpoint
 * @returns {boolean} its history is not walked to the end, or something happened since
 */
export function needsWalk(checkpoint) {
  const activity = checkpoint.latestMessageAtMs ?? 0;
  if (!checkpoint.historyComplete) {
    // A history that stands still is not asked for ever; new activity tries it again.
    const isStuck = checkpoint.result === "history_cursor_stuck";
    return !isStuck || activity > (checkpoint.scannedActivityMs ?? 0);
  }
  const isSettled =
    checkpoint.phase === "completed" || checkpoint.latestMessageId === null;
  const covered = Math.max(
    checkpoint.scannedActivityMs ?? 0,
    newestConfirmedAtMs(checkpoint),
  );
  return isSettled && activity > covered;
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

/** @param {any} listed */
function isListed(listed) {
  const time = listed?.latestMessageAtMs;
  return (
    typeof listed?.conversationId === "string" &&
    listed.conversationId !== "" &&
    listed.conversationId.length <= 256 &&
    (time === null || Number.isSafeInteger(time))
  );
}
