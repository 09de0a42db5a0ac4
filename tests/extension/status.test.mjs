import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { accountStatuses } from "../../extension_harness/extension/background/status.js";
import {
  CANDIDATES,
  CHECKPOINTS,
} from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";

let database;

beforeEach(() => {
  database = new MemoryStore();
});

function conversation(conversationId, changes) {
  database.fill(CHECKPOINTS, {
    key: `1|${conversationId}`,
    channelAccountId: "1",
    conversationId,
    phase: "uploading",
    historyComplete: true,
    result: null,
    pages: 1,
    lastObservedAtMs: 0,
    ...changes,
  });
}

const empty = { result: "no_valid_messages" };

test("a conversation without a valid message counts as finished", async () => {
  conversation("proven", { phase: "completed" });
  conversation("empty", empty);
  const [account] = await accountStatuses(database);

  assert.equal(account.conversations, 2);
  assert.equal(account.completed, 2);
  assert.deepEqual(
    account.shown.map((each) => each.progress),
    [1, 1],
  );
});

test("what is still read, proven or sent is not finished", async () => {
  conversation("proving", {});
  conversation("reading", { ...empty, historyComplete: false });
  for (const status of ["pending_ack", "awaiting_anchor"]) {
    conversation(status, empty);
    database.fill(CANDIDATES, {
      candidateKey: status,
      channelAccountId: "1",
      conversationId: status,
      status,
      observedAtMs: 1,
    });
  }
  const [account] = await accountStatuses(database);

  assert.equal(account.conversations, 4);
  assert.equal(account.completed, 0);
  assert.ok(account.shown.every((each) => each.progress < 1));
});
