// Whether something older may be missing where something newer is stored. A page that opens,
// or that lost what it saw, may show the newest message of a conversation before its list
// was read and before the history between was walked; stored, confirmed and proven, that
// one would seem to cover all before it (OT-43). So such a conversation is marked first: it
// is claimed no more, and keeps its anchor, until its history was walked from the newest
// down to that.

import { checkpointsOf, updateCheckpoint } from "../store/checkpoints.js";
import { isBeyond, isEdgeOpen } from "./walks.js";

/** Conversations of one page that are remembered as marked; beyond, they are looked up. */
const MAX_REMEMBERED = 5_000;
/** Pages that are remembered at all; one that is forgotten has its conversations marked. */
const MAX_PAGES = 100;

/** @typedef {import("../shared/records.js").CheckpointRecord} CheckpointRecord */

export class Coverage {
  /** @type {Map<string, Set<string>>} by page whose list was not read since it opened */
  #marked = new Map();
  /** @type {Set<string>} pages whose list was read since */
  #covered = new Set();
  #database;

  /** @param {import("../store/database.js").Database} database */
  constructor(database) {
    this.#database = database;
  }

  /**
   * A page was away, or said things that nobody heard.
   *
   * @param {string} pageId
   */
  forget(pageId) {
    this.#covered.delete(pageId);
    this.#marked.delete(pageId);
  }

  /**
   * A page is about to have something recorded.
   *
   * @param {{pageId: string, channelAccountId: string}} page
   * @param {any[]} rows each of the conversation that it names
   * @returns {Promise<void>} when what is to be marked is, on disk
   * @throws {import("../shared/errors.js").StoreError}
   */
  async seen({ pageId, channelAccountId }, rows) {
    if (this.#covered.has(pageId)) return;
    const marked = this.#marked.get(pageId) ?? new Set();
    this.#marked.set(pageId, marked);
    for (const first of firstBeyond(this.#marked)) this.#marked.delete(first);
    for (const name of new Set(rows.map((row) => row?.conversationId))) {
      if (!isName(name) || marked.has(name)) continue;
      await updateCheckpoint(this.#database, channelAccountId, name, behind);
      if (marked.size < MAX_REMEMBERED) marked.add(name);
    }
  }

  /**
   * The whole list of an account was read. What it tells of beyond what is known is marked,
   * and what it could not tell of, in the millisecond of a newest message; from now on the
   * pages that were open show whatever is new.
   *
   * @param {string} account
   * @param {{pageId: string}[]} pages of the account that were open before
   * @returns {Promise<void>}
   * @throws {import("../shared/errors.js").StoreError}
   */
  async listed(account, pages) {
    if (pages.every(({ pageId }) => this.#covered.has(pageId))) return;
    for await (const page of checkpointsOf(this.#database, account)) {
      const open = page.filter((each) => isBeyond(each) || isEdgeOpen(each));
      for (const { conversationId } of open.filter((each) => behind(each) !== null)) {
        await updateCheckpoint(this.#database, account, conversationId, behind);
      }
    }
    for (const { pageId } of pages) {
      this.forget(pageId);
      this.#covered.add(pageId);
    }
    for (const first of firstBeyond(this.#covered)) this.#covered.delete(first);
  }
}

/**
 * What a page saw and could not keep, because its queue was full.
 *
 * @param {import("../store/database.js").Database} database
 * @param {unknown} lost pairs of an account and a conversation, or null for any of it; the
 *     page's word, so anything else is passed over
 * @returns {Promise<void>} when the marks are on disk
 * @throws {import("../shared/errors.js").StoreError}
 */
export async function noteLost(database, lost) {
  for (const pair of Array.isArray(lost) ? lost : []) {
    const [account, conversation] = Array.isArray(pair) ? pair : [];
    if (!isName(account)) continue;
    if (isName(conversation)) {
      await updateCheckpoint(database, account, conversation, behind);
    } else if (conversation === null) {
      for await (const page of checkpointsOf(database, account)) {
        for (const { conversationId } of page) {
          await updateCheckpoint(database, account, conversationId, behind);
        }
      }
    }
  }
}

/**
 * @param {CheckpointRecord} seen
 * @returns {CheckpointRecord | null}
 */
function behind(seen) {
  return seen.isBehind === true || isUnbegun(seen) ? null : { ...seen, isBehind: true };
}

/**
 * @param {CheckpointRecord} seen
 * @returns {boolean} its walk begins from the newest in any case
 */
function isUnbegun({ historyComplete, nextTimeStamp, pages }) {
  return !historyComplete && nextTimeStamp === null && pages === 0;
}

/** @param {unknown} name */
function isName(name) {
  return typeof name === "string" && name !== "" && name.length <= 256;
}

/**
 * @param {Map<string, unknown> | Set<string>} pages
 * @returns {string[]} the oldest ones that are too many
 */
function firstBeyond(pages) {
  return Array.from(pages.keys()).slice(0, Math.max(0, pages.size - MAX_PAGES));
}
