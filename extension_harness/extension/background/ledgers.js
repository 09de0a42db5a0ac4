// The ledgers beside the messages, as their uplink sees them: which verbs of the store and
// which frames belong together. No ACK of one settles anything of another (OT-87).

import { packBatch } from "../shared/frames.js";
import { listPendingProfiles, settleProfiles } from "../store/profiles.js";

/** @typedef {import("./ledger-uplink.js").Ledger} Ledger */
/** @typedef {import("../shared/records.js").PendingProfile} PendingProfile */
/** @typedef {import("../store/database.js").Database} Database */
/** @typedef {import("../store/profiles.js").ProfileName} ProfileName */

/**
 * @param {Database} database
 * @param {() => number} now
 * @returns {Ledger}
 */
export function profileLedger(database, now) {
  return {
    name: "profiles",
    ack: "contact.profile.ack",
    async next(channelAccountId, { requestId, most, maxFrameBytes }) {
      const bound = { limit: most };
      const records = await listPendingProfiles(database, channelAccountId, bound);
      if (records.length === 0) return null;
      const entries = records.map(({ conversationId, pending }) => {
        const { aliId, fingerprint, observedAtMs, profile } =
          /** @type {PendingProfile} */ (pending);
        const part = { conversationId, fingerprint, observedAtMs };
        return { part, wire: { ...part, aliId, profile } };
      });
      const type = "contact.profile.observed";
      const envelope = { type, requestId, channelAccountId };
      return packBatch(entries, envelope, maxFrameBytes, "profiles");
    },
    acknowledge({ channelAccountId, acks, rejected }) {
      const answer = { confirmed: acks, refused: rejected };
      return settleProfiles(database, channelAccountId, answer, now());
    },
    refuse: (channelAccountId, parts) => {
      const answer = { confirmed: [], refused: parts };
      return settleProfiles(database, channelAccountId, answer, now());
    },
    async isAnyPending(channelAccountId) {
      const bound = { limit: 1 };
      return (await listPendingProfiles(database, channelAccountId, bound)).length > 0;
    },
  };
}
