// Each frame of Bright to the part that it is for, and each refusal to the one it answers.

/** @typedef {import("../shared/frames.js").Incoming} Incoming */
/** @typedef {import("../shared/frames.js").WsError} WsError */

export class FrameRouter {
  #parts;

  /**
   * @param {object} parts
   * @param {import("./connection.js").Connection} parts.connection
   * @param {import("./faults.js").Faults} parts.faults
   * @param {import("./claims.js").Claims} parts.claims
   * @param {import("./pages.js").Pages} parts.pages
   * @param {import("./uplink.js").Uplink} parts.uplink
   * @param {import("./ledger-uplink.js").LedgerUplink} parts.ledgers
   * @param {import("./presence.js").Presence} parts.presence
   * @param {import("./commands.js").Commands} parts.commands
   * @param {Map<string, string>} parts.discoveries account by the request id of a discovery
   * @param {() => void} parts.changed there is something else to show
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * @param {Incoming} frame any after `welcome`
   * @returns {Promise<unknown>} when all that follows from it is on disk
   * @throws {import("../shared/errors.js").StoreError}
   */
  async take(frame) {
    const { claims, commands, ledgers, uplink, presence } = this.#parts;
    switch (frame.type) {
      case "observation.ack":
        await uplink.acknowledge(frame);
        return uplink.batchesInFlight === 0 ? presence.settle() : undefined;
      case "contact.profile.ack":
      case "card.rendered.ack":
      case "buyer.facts.ack":
        return ledgers.acknowledge(frame);
      case "anchor.snapshot":
        return claims.anchored(frame.anchors);
      case "conversation.known":
        return this.#known(frame);
      case "ws.error":
        return this.#refused(frame);
      case "command":
        return commands.take(frame);
    }
  }

  /** @param {import("../shared/frames.js").ConversationKnown} frame */
  async #known({ requestId, conversations }) {
    const { claims, discoveries } = this.#parts;
    const account = discoveries.get(requestId);
    discoveries.delete(requestId);
    if (account) await claims.compare(account, conversations);
  }

  /** @param {WsError} error */
  async #refused(error) {
    const { changed, claims, connection, faults, ledgers, pages, uplink } = this.#parts;
    const { code, channelAccountId, conversationId } = error;
    if (code === "claim_unproven" && channelAccountId && conversationId) {
      return claims.offerAgain(channelAccountId, conversationId);
    }
    if (!(await uplink.refuse(error))) await ledgers.refuse(error);
    if (error.retryable) return;
    const held = connection.welcome?.accounts ?? [];
    const open = pages.all.map((page) => page.channelAccountId);
    const foreign = open.filter((account) => !held.includes(account));
    faults.refused(error, foreign);
    changed();
  }
}
