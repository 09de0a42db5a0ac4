// How to walk back through a history whose pages overlap, repeat, stand still or say the
// wrong thing about what is left. Pure: one page in, one decision out.

/**
 * @typedef {object} Position
 * @property {number | null} cursor what the page was asked with; a page holds what was sent
 *     at that time or before, so its edge is seen again and no message is skipped
 * @property {number} count how many messages were asked for
 * @property {boolean} isPastEdge the step over an edge that stood still was taken
 */

/**
 * @typedef {object} SeenPage
 * @property {number} rows
 * @property {number | null} oldestMs of the rows that have a time
 * @property {number | null} reportedNext the page's own next cursor, where it has one
 * @property {boolean | null} hasMore what the page says; null: it says nothing
 */

/**
 * @typedef {object} Decision
 * @property {Position | null} next
 * @property {boolean} isComplete the page has said that its history ends here
 * @property {boolean} isStuck the history stood still here, which is worth an anomaly; with
 *     no next position it stays incomplete
 */

/**
 * @param {Position} asked
 * @param {SeenPage} page
 * @param {{pageSize: number, maxPageSize: number}} bounds
 * @returns {Decision}
 */
export function nextPosition(asked, page, bounds) {
  const { cursor, count } = asked;
  const movesTo = olderThan(cursor, page.rows > 0 ? page.oldestMs : page.reportedNext);
  if (movesTo !== null) {
    const isEnd = page.hasMore === false && page.rows < count;
    return isEnd
      ? end()
      : go({ cursor: movesTo, count: bounds.pageSize, isPastEdge: false });
  }
  // Nothing older came. That is the end when the page says so, or when it had room for
  // more than it gave; a page that is full of one millisecond, or claims more, is widened.
  const mayHaveMore =
    page.hasMore === true || (page.rows >= count && page.rows > 0 && cursor !== null);
  if (!mayHaveMore) return end();
  if (count < bounds.maxPageSize) {
    const wider = Math.min(count * 2, bounds.maxPageSize);
    return go({ ...asked, count: wider });
  }
  if (cursor === null || asked.isPastEdge) {
    return { next: null, isComplete: false, isStuck: true };
  }
  return {
    next: { cursor: cursor - 1, count: bounds.pageSize, isPastEdge: true },
    isComplete: false,
    isStuck: true,
  };
}

/**
 * @param {number | null} cursor
 * @param {number | null} candidate
 * @returns {number | null} the candidate when it is further back than the cursor
 */
function olderThan(cursor, candidate) {
  if (candidate === null) return null;
  return cursor === null || candidate < cursor ? candidate : null;
}

/**
 * @param {Position} next
 * @returns {Decision}
 */
function go(next) {
  return { next, isComplete: false, isStuck: false };
}

/** @returns {Decision} */
function end() {
  return { next: null, isComplete: true, isStuck: false };
}
