import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Claims } from "../../extension_harness/extension/background/claims.js";
import { Settling } from "../../extension_harness/extension/background/settling.js";
import {
  candidateKey,
  cardKey,
  conversationKey,
} from "../../extension_harness/extension/shared/keys.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import { changeCheckpoint } from "../../extension_harness/extension/store/checkpoints.js";
import {
  BUYER_FACTS,
  CANDIDATES,
  CARDS,
  CHECKPOINTS,
  PROFILES,
} from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";

const ACCOUNT = "1";
const CHAT = "1-2";
const SCOPE = { channelAccountId: ACCOUNT, conversationId: CHAT };
const KEY = conversationKey(ACCOUNT, CHAT);
const CANDIDATE = candidateKey(ACCOUNT, CHAT, 10, "10");

let connection;
let database;
let done;
let refused;
let settling;
let stored;

beforeEach(async () => {
  database = new MemoryStore();
  done = [];
  refused = [];
  stored = { storeIds: {} };
  let requests = 0;
  connection = {
    welcome: null,
    nextRequestId: () => `r-${(requests += 1)}`,
    send: (frame) => done.push(frame.type) > 0,
  };
  const claims = new Claims({
    database,
    connection,
    clock: { steady: () => 1, after: () => 1, cancel: () => {} },
    settings: () => settingsFrom({}),
    reoffered: () => {},
    behind: () => {},
    completed: () => {},
    failed: () => {},
  });
  settling = new Settling({
    database,
    connection,
    claims,
    faults: {
      welcomed: () => {},
      refused: (error) => refused.push(error.code),
    },
    health: { tellAll: () => done.push("health") },
    pages: {
      all: [ACCOUNT, "2"].map((channelAccountId) => ({
        pageId: "p",
        channelAccountId,
        route: "#/",
      })),
    },
    uplink: { start: () => done.push("uplink") },
    ledgers: { start: () => done.push("ledgers") },
    sync: { wake: () => done.push("walks") },
    discoveries: new Map(),
    stored: () => stored,
    remember: async (values) => (stored = { ...stored, ...values }),
  });
  await filled();
});

/** A conversation of which Bright has everything, but its anchor. */
async function filled() {
  await database.write([CHECKPOINTS], (transaction) =>
    changeCheckpoint(transaction, ACCOUNT, CHAT, (fresh) => ({
      ...fresh,
      phase: "uploading",
      historyComplete: true,
      latestMessageId: "10",
      latestCandidateKey: CANDIDATE,
    })),
  );
  database.fill(CANDIDATES, {
    ...SCOPE,
    candidateKey: CANDIDATE,
    messageId: "10",
    status: "confirmed",
  });
  database.fill(PROFILES, {
    ...SCOPE,
    key: KEY,
    aliId: "2",
    profile: { name: "Ines" },
    lastUploadedFingerprint: "f",
    uploadedObservedAtMs: 5,
    rejectedObservedAtMs: 0,
  });
  database.fill(CARDS, {
    ...SCOPE,
    key: cardKey(ACCOUNT, CHAT, "10", "inquiry"),
    messageId: "10",
    status: "confirmed",
  });
  database.fill(BUYER_FACTS, {
    ...SCOPE,
    key: KEY,
    facts: {},
    fingerprint: "g",
    observedAtMs: 5,
    uploadedFingerprint: "g",
  });
}

function welcomed(storeId) {
  connection.welcome = { accounts: [ACCOUNT], storeId };
  return settling.settle();
}

const states = () => ({
  candidate: database.all(CANDIDATES)[0].status,
  card: database.all(CARDS)[0].status,
  facts: database.all(BUYER_FACTS)[0].uploadedFingerprint,
  profile: database.all(PROFILES)[0].pending?.fingerprint,
});

test("OT-51, OT-63, OT-87: pages, discoveries, messages, claims, walks, then the ledgers", async () => {
  await welcomed("store-1");

  assert.deepEqual(done, [
    "page.register",
    "health",
    "conversation.discovered",
    "uplink",
    "sync.complete",
    "walks",
    "ledgers",
  ]);
});

test("OT-60: a page of an account that the binding does not hold is not registered", async () => {
  await welcomed("store-1");

  assert.equal(done.filter((each) => each === "page.register").length, 1);
  assert.deepEqual(refused, ["out_of_scope"]);
});

test("the same store, or the first, is offered nothing again", async () => {
  for (let welcomes = 0; welcomes < 2; welcomes += 1) {
    await welcomed("store-1");
    assert.deepEqual(states(), {
      candidate: "confirmed",
      card: "confirmed",
      facts: "g",
      profile: undefined,
    });
  }
});

test("OT-51, OT-82: another store is offered messages and every ledger again", async () => {
  await welcomed("store-1");
  done.length = 0;
  await welcomed("store-2");

  assert.deepEqual(states(), {
    candidate: "pending_ack",
    card: "pending_ack",
    facts: null,
    profile: "f",
  });
  assert.equal(
    done.includes("sync.complete"),
    false,
    "nothing is proven there",
  );
  assert.deepEqual(stored.storeIds, { [ACCOUNT]: "store-2" });
});

test("one welcome is settled once, and again when the store failed meanwhile", async () => {
  const { write } = database;
  stored = { storeIds: { [ACCOUNT]: "store-0" } };
  database.write = () => Promise.reject(new Error("no room"));
  await assert.rejects(welcomed("store-1"), /no room/);
  assert.deepEqual(done, []);

  database.write = write;
  await settling.settle();
  await settling.settle();
  assert.equal(done.filter((each) => each === "ledgers").length, 1);
});
