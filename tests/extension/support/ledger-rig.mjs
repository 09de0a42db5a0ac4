// The ledgers' uplink over records in memory, its clock and its connection in a test's hands.

import { LedgerUplink } from "../../../extension_harness/extension/background/ledger-uplink.js";
import { everyLedger } from "../../../extension_harness/extension/background/ledgers.js";
import { settingsFrom } from "../../../extension_harness/extension/shared/settings.js";
import { observeProfiles } from "../../../extension_harness/extension/store/profiles.js";
import { PROFILES } from "../../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./manual-clock.mjs";
import { MemoryStore } from "./memory-store.mjs";

export const ACCOUNT = "1";
export const NOW = 1_000;
export const LIMITS = {
  maxFrameBytes: 100_000,
  maxBatchMessages: 10,
  maxInFlightBatches: 8,
};

export const chat = (number) => `1-${100 + number}#11011@icbu`;

export class LedgerRig {
  clock = new ManualClock();
  database = new MemoryStore();
  sent = [];
  failures = [];
  idle = 0;
  connection = {
    welcome: { accounts: [ACCOUNT], limits: { ...LIMITS } },
    bufferedBytes: 0,
    requests: 0,
    nextRequestId() {
      return `r-${(this.requests += 1)}`;
    },
    send: (frame) => this.sent.push(JSON.parse(frame)) > 0,
  };
  uplink = new LedgerUplink({
    ledgers: everyLedger(this.database, () => NOW),
    connection: this.connection,
    clock: this.clock,
    random: () => 0.5,
    settings: () => settingsFrom({}),
    idle: () => (this.idle += 1),
    failed: (error) => this.failures.push(error),
  });

  /** Lets everything go on that waits for no timer, digests included. */
  async turns() {
    for (let turn = 0; turn < 40; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      await crypto.subtle.digest("SHA-256", new Uint8Array(1));
    }
  }

  /** And what waits for one. */
  async later() {
    this.clock.pass(60_000);
    await this.turns();
  }

  profiles(count, { at = 10, name = "Ines", account = ACCOUNT } = {}) {
    const seen = Array.from({ length: count }, (_, index) => ({
      conversationId: chat(index + 2),
      aliId: String(index + 2),
      profile: { name },
      fingerprint: `of ${name}`,
      observedAtMs: at + index,
    }));
    return observeProfiles(this.database, account, seen, NOW);
  }

  pendings = () =>
    this.database
      .all(PROFILES)
      .filter((row) => row.pending)
      .map((row) => row.conversationId);
}

export function errorOf({ requestId }, code, retryable = false) {
  return { type: "ws.error", requestId, code, message: "", retryable };
}
