// Begins a conversation anew: what was recorded of it goes, and nothing else does.

import { conversationKey } from "../shared/keys.js";
import { keysOfConversation } from "./reads.js";
import { ANOMALIES, CANDIDATES, CARDS, CHECKPOINTS, MESSAGES } from "./steps.js";

/**
 * How many records of each went.
 *
 * @typedef {object} Rebuilt
 * @property {number} messages
 * @property {number} candidates
 * @property {number} anomalies
 * @property {number} cards
 */

/**
 * Deletes the messages, candidates, anomalies, rendered cards and the checkpoint of one
 * conversation, in one transaction (OT-20, OT-92). Its bootstrap, profile and buyer facts
 * stay: they are not read out of its history.
 *
 * @param {import("./database.js").Database} database
 * @param {string} channelAccountId
 * @param {string} conversationId
 * @returns {Promise<Rebuilt>}
 */
export function rebuildConversation(database, channelAccountId, conversationId) {
  const scoped = [MESSAGES, CANDIDATES, ANOMALIES, CARDS];
  return database.write([...scoped, CHECKPOINTS], async (transaction) => {
    const [messages, candidates, anomalies, cards] = await Promise.all(
      scoped.map(async (name) => {
        const keys = await keysOfConversation(
          transaction,
          name,
          channelAccountId,
          conversationId,
        );
        const store = transaction.objectStore(name);
        for (const key of keys) store.delete(key);
        return keys.length;
      }),
    );
    const key = conversationKey(channelAccountId, conversationId);
    transaction.objectStore(CHECKPOINTS).delete(key);
    return { messages, candidates, anomalies, cards };
  });
}
