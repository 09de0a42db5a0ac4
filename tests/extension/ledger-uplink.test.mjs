import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  LedgerUplink,
  MAX_ATTEMPTS,
} from "../../extension_harness/extension/background/ledger-uplink.js";
import { everyLedger } from "../../extension_harness/extension/background/ledgers.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import {
  confirmBuyerFacts,
  recordBuyerFacts,
} from "../../extension_harness/extension/store/buyer-facts.js";
import { recordCards } from "../../extension_harness/extension/store/cards.js";
import { takeList } from "../../extension_harness/extension/store/checkpoints.js";
import { observeProfiles } from "../../extension_harness/extension/store/profiles.js";
import {
  ANOMALIES,
  BUYER_FACTS,
  CARDS,
  PROFILES,
} from "../../extension_harness/extension/store/steps.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";

const LIMITS = {
  maxFrameBytes: 100_000,
  maxBatchMessages: 10,
  maxInFlightBatches: 8,
};
const ACCOUNT = "1";
const NOW = 1_000;

let clock;
let connection;
let database;
let failures;
let idle;
let sent;
let uplink;

beforeEach(() => {
  clock = new ManualClock();
  database = new MemoryStore();
  sent = [];
  failures = [];
  idle = 0;
  connection = {
    welcome: { accounts: [ACCOUNT], limits: LIMITS },
    bufferedBytes: 0,
    requests: 0,
    nextRequestId() {
      return `r-${(this.requests += 1)}`;
    },
    send: (frame) => sent.push(JSON.parse(frame)) > 0,
  };
  uplink = new LedgerUplink({
    ledgers: everyLedger(database, () => NOW),
    connection,
    clock,
    random: () => 0.5,
    settings: () => settingsFrom({}),
    idle: () => (idle += 1),
    failed: (error) => failures.push(error),
  });
});

/** Lets everything go on that waits for no timer. */
async function turns() {
  for (let turn = 0; turn < 40; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const chat = (number) => `1-${100 + number}#11011@icbu`;

function profiles(count, { at = 10, name = "Ines", account = ACCOUNT } = {}) {
  const seen = Array.from({ length: count }, (_, index) => ({
    conversationId: chat(index + 2),
    aliId: String(index + 2),
    profile: { name },
    fingerprint: `of ${name}`,
    observedAtMs: at + index,
  }));
  return observeProfiles(database, account, seen, NOW);
}

function ackOf({ requestId, channelAccountId, profiles }, count = Infinity) {
  const acks = profiles.slice(0, count);
  return {
    type: "contact.profile.ack",
    requestId,
    channelAccountId,
    acks,
    rejected: [],
  };
}

function errorOf({ requestId }, code, retryable = false) {
  return { type: "ws.error", requestId, code, message: "", retryable };
}

const pendings = () =>
  database
    .all(PROFILES)
    .filter((row) => row.pending)
    .map((row) => row.conversationId);

test("OT-82: what is pending is told from the store, a bounded batch, one at a time", async () => {
  await profiles(25);
  uplink.start();
  await turns();
  assert.deepEqual(
    sent.map((frame) => [frame.type, frame.profiles.length]),
    [["contact.profile.observed", 10]],
  );
  assert.deepEqual(sent[0].profiles[0], {
    conversationId: chat(2),
    fingerprint: "of Ines",
    observedAtMs: 10,
    aliId: "2",
    profile: { name: "Ines" },
  });
  for (const [index, left] of [15, 5, 0].entries()) {
    await uplink.acknowledge(ackOf(sent[index]));
    await turns();
    assert.equal(pendings().length, left);
  }
  assert.equal(sent.length, 3);
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
  assert.ok(idle > 0);
});

test("OT-82: a new connection tells it again; the unanswered one is forgotten", async () => {
  await profiles(2);
  uplink.start();
  await turns();
  uplink.halt();
  assert.equal(clock.pending, 0);
  uplink.start();
  await turns();
  assert.deepEqual(
    sent.map((frame) => frame.profiles.length),
    [2, 2],
  );
});

test("OT-82: an unanswered request is tried a few times; a new page, or news, tries anew", async () => {
  await profiles(1);
  uplink.start();
  for (let time = 0; time < 50; time += 1) {
    await turns();
    clock.pass(60_000);
  }
  assert.equal(sent.length, MAX_ATTEMPTS);
  assert.equal(clock.pending, 0);
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
  uplink.observed("profiles", ACCOUNT);
  await turns();
  assert.equal(sent.length, MAX_ATTEMPTS + 1);
  clock.pass(60_000);
  await turns();
  assert.equal(clock.pending, 0);
  uplink.retry(ACCOUNT);
  await turns();
  clock.pass(60_000);
  await turns();
  clock.pass(60_000);
  await turns();
  assert.ok(sent.length > MAX_ATTEMPTS + 2);
});

test("OT-83: a late ACK of an older one leaves the newer pending, and it goes", async () => {
  await profiles(1);
  uplink.start();
  await turns();
  await profiles(1, { at: 20, name: "Olga" });
  await uplink.acknowledge(ackOf(sent[0]));
  assert.deepEqual(pendings(), [chat(2)]);
  clock.pass(60_000);
  await turns();
  assert.equal(sent[1].profiles[0].fingerprint, "of Olga");
});

test("OT-83: an ACK counts although its request was given up", async () => {
  await profiles(1);
  uplink.start();
  await turns();
  uplink.halt();
  await uplink.acknowledge(ackOf(sent[0]));
  assert.deepEqual(pendings(), []);
});

test("OT-83: what the store cannot write down is not confirmed, and goes again", async () => {
  await profiles(1);
  uplink.start();
  await turns();
  const { write } = database;
  database.write = () => Promise.reject(new Error("full"));
  await assert.rejects(uplink.acknowledge(ackOf(sent[0])), /full/);
  database.write = write;
  assert.deepEqual(pendings(), [chat(2)]);
  clock.pass(60_000);
  await turns();
  assert.equal(sent.length, 2);
});

test("OT-84: exactly the request's are dropped, the newer and the others stay", async () => {
  await profiles(2);
  uplink.start();
  await turns();
  await profiles(1, { at: 900, name: "Olga" });
  await observeProfiles(
    database,
    ACCOUNT,
    [
      {
        conversationId: chat(9),
        aliId: "9",
        profile: { name: "New" },
        fingerprint: "new",
        observedAtMs: 7,
      },
    ],
    NOW,
  );
  assert.equal(
    await uplink.refuse(errorOf(sent[0], "profile_observed_at_future")),
    true,
  );
  assert.deepEqual(pendings(), [chat(2), chat(9)]);
  const dropped = database
    .all(PROFILES)
    .find((row) => row.conversationId === chat(3));
  assert.equal(dropped.rejectedObservedAtMs, 11);
});

test("OT-84: one that can never be stored is dropped, and costs no other", async () => {
  await profiles(2);
  uplink.start();
  await turns();
  const ack = ackOf(sent[0], 1);
  const [, refused] = sent[0].profiles;
  await uplink.acknowledge({
    ...ack,
    rejected: [{ ...refused, code: "too_large" }],
  });
  await turns();
  assert.deepEqual(pendings(), []);
  assert.equal(sent.length, 1);
});

test("a frame refused as a whole is halved until the one it is stands alone and goes", async () => {
  await profiles(8);
  uplink.start();
  for (let time = 0; time < 40 && pendings().length > 0; time += 1) {
    await turns();
    const frame = sent.at(-1);
    const isBad = frame.profiles.some(
      (each) => each.conversationId === chat(6),
    );
    if (isBad) await uplink.refuse(errorOf(frame, "invalid_frame"));
    else await uplink.acknowledge(ackOf(frame));
  }
  assert.deepEqual(pendings(), []);
  const uploaded = database
    .all(PROFILES)
    .filter((row) => row.lastUploadedFingerprint);
  assert.equal(uploaded.length, 7);
});

test("OT-60: what Bright takes not at all rests, and nothing of it is dropped", async () => {
  await profiles(3);
  uplink.start();
  await turns();
  await uplink.refuse(errorOf(sent[0], "unknown_type"));
  clock.pass(1e9);
  await turns();
  assert.equal(sent.length, 1);
  assert.equal(pendings().length, 3);
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
});

test("OT-60: an account that the binding does not hold tells nothing", async () => {
  await profiles(2, { account: "2" });
  uplink.start();
  await turns();
  assert.deepEqual(sent, []);
  assert.equal(await uplink.isUnfinished("2"), false);
});

test("a socket that is full is waited for, and a refusal to try later is heeded", async () => {
  connection.bufferedBytes = 1e9;
  await profiles(1);
  uplink.start();
  await turns();
  assert.deepEqual(sent, []);
  connection.bufferedBytes = 0;
  clock.pass(100);
  await turns();
  assert.equal(sent.length, 1);
  await uplink.refuse(errorOf(sent[0], "overloaded", true));
  await turns();
  assert.equal(sent.length, 1);
  clock.pass(60_000);
  await turns();
  assert.equal(sent.length, 2);
});

test("OT-85: a ledger that cannot be read tells nothing, and says so", async () => {
  await profiles(1);
  database.read = () => Promise.reject(new Error("unreadable"));
  uplink.start();
  await turns();
  assert.deepEqual(sent, []);
  assert.match(failures[0].message, /unreadable/);
});

function cards(conversationId, ...ids) {
  return recordCards(database, {
    channelAccountId: ACCOUNT,
    conversationId,
    observedAtMs: 5,
    cards: ids.map((messageId) => ({
      messageId,
      candidateKey: `key of ${messageId}`,
      cardKind: "order_card",
      content: { title: messageId, lines: [] },
      digest: `digest of ${messageId}`,
    })),
  });
}

const cardResult = (card, status, more = {}) => ({ ...card, status, ...more });
const statuses = () =>
  Object.fromEntries(
    database.all(CARDS).map((row) => [row.messageId, row.status]),
  );

test("OT-90, OT-91: cards go by conversation; each result is one card's alone", async () => {
  await cards(chat(2), "a", "b", "c", "d");
  await cards(chat(3), "e");
  uplink.start();
  await turns();
  const [frame] = sent;
  assert.equal(frame.type, "card.rendered.observed");
  assert.deepEqual(
    frame.cards.map((card) => card.messageId),
    ["a", "b", "c", "d"],
  );
  const [a, b, c, d] = frame.cards;
  await uplink.acknowledge({
    type: "card.rendered.ack",
    requestId: frame.requestId,
    channelAccountId: ACCOUNT,
    conversationId: chat(2),
    results: [
      cardResult(a, "confirmed"),
      cardResult(b, "conflict"),
      cardResult(c, "rejected", { code: "too_large" }),
      cardResult(d, "retry"),
    ],
  });
  await turns();
  assert.deepEqual(statuses(), {
    a: "confirmed",
    b: "anomaly",
    c: "rejected",
    d: "pending_ack",
    e: "pending_ack",
  });
  assert.deepEqual(
    database.all(ANOMALIES).map((row) => row.code),
    ["card_conflict"],
  );
  assert.deepEqual(
    sent[1].cards.map((card) => card.messageId),
    ["d"],
  );
});

test("a card that no frame can hold is put aside, and blocks no other", async () => {
  connection.welcome.limits = { ...LIMITS, maxFrameBytes: 400 };
  await cards(chat(2), "a".repeat(500), "b");
  uplink.start();
  await turns();
  assert.deepEqual(
    sent.map((frame) => frame.cards.map((card) => card.messageId)),
    [["b"]],
  );
  assert.equal(statuses()["a".repeat(500)], "rejected");
});

function facts(conversationId, orders, observedAtMs = 10) {
  return recordBuyerFacts(database, {
    channelAccountId: ACCOUNT,
    conversationId,
    facts: { orderCount: orders },
    fingerprint: `of ${orders}`,
    observedAtMs,
  });
}

function listed(...conversations) {
  const rows = conversations.map((conversationId) => ({
    conversationId,
    latestMessageAtMs: 5,
  }));
  return takeList(database, ACCOUNT, rows, NOW);
}

function factsAck({ requestId, conversationId, fingerprint, observedAtMs }) {
  return {
    type: "buyer.facts.ack",
    requestId,
    channelAccountId: ACCOUNT,
    conversationId,
    fingerprint,
    observedAtMs,
  };
}

test("OT-70: pending facts are found again by the checkpoints' keys, one by one", async () => {
  await listed(chat(2), chat(3), chat(4), chat(5));
  for (const number of [2, 3, 5]) await facts(chat(number), number);
  await confirmBuyerFacts(database, ACCOUNT, {
    conversationId: chat(3),
    fingerprint: "of 3",
    observedAtMs: 10,
  });
  uplink.start();
  await turns();
  await uplink.acknowledge(factsAck(sent[0]));
  await turns();
  await uplink.acknowledge(factsAck(sent[1]));
  await turns();
  assert.deepEqual(
    sent.map((frame) => [
      frame.type,
      frame.conversationId,
      frame.facts.orderCount,
    ]),
    [
      ["buyer.facts.observed", chat(2), 2],
      ["buyer.facts.observed", chat(5), 5],
    ],
  );
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
});

test("facts of a conversation without a checkpoint go when they are observed", async () => {
  uplink.start();
  await turns();
  await facts(chat(7), 1);
  uplink.observed("facts", ACCOUNT, chat(7));
  await turns();
  assert.deepEqual(
    sent.map((frame) => frame.conversationId),
    [chat(7)],
  );
});

test("newer facts outlive the ACK of those before, and go", async () => {
  await listed(chat(2));
  await facts(chat(2), 1);
  uplink.start();
  await turns();
  await facts(chat(2), 2, 20);
  uplink.observed("facts", ACCOUNT, chat(2));
  await uplink.acknowledge(factsAck(sent[0]));
  clock.pass(60_000);
  await turns();
  assert.equal(sent[1].facts.orderCount, 2);
  await uplink.acknowledge(factsAck(sent[1]));
  assert.equal(database.all(BUYER_FACTS)[0].uploadedFingerprint, "of 2");
});

test("OT-84: facts of the future go, and an older observation counts again", async () => {
  await listed(chat(2));
  await facts(chat(2), 1, 9_999);
  uplink.start();
  await turns();
  await uplink.refuse(errorOf(sent[0], "facts_observed_at_future"));
  await turns();
  assert.deepEqual(database.all(BUYER_FACTS), []);
  assert.equal(await facts(chat(2), 2, 20), true);
});

test("OT-87: an ACK of one ledger settles nothing of another", async () => {
  await profiles(1);
  await cards(chat(2), "a");
  await listed(chat(2));
  await facts(chat(2), 1);
  uplink.start();
  await turns();
  assert.equal(sent.length, 3);
  const told = sent.find((frame) => frame.type === "buyer.facts.observed");
  await uplink.acknowledge(factsAck(told));
  await turns();
  assert.deepEqual(pendings(), [chat(2)]);
  assert.deepEqual(statuses(), { a: "pending_ack" });
});
