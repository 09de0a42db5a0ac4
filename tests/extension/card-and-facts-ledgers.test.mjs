import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  confirmBuyerFacts,
  recordBuyerFacts,
} from "../../extension_harness/extension/store/buyer-facts.js";
import { recordCards } from "../../extension_harness/extension/store/cards.js";
import { takeList } from "../../extension_harness/extension/store/checkpoints.js";
import { reofferLedgers } from "../../extension_harness/extension/store/ledger-reoffers.js";
import {
  ANOMALIES,
  BUYER_FACTS,
  CARDS,
} from "../../extension_harness/extension/store/steps.js";
import {
  ACCOUNT,
  LIMITS,
  LedgerRig,
  NOW,
  chat,
  errorOf,
} from "./support/ledger-rig.mjs";

let connection;
let database;
let rig;
let sent;
let uplink;

beforeEach(() => {
  rig = new LedgerRig();
  ({ connection, database, sent, uplink } = rig);
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
  await rig.turns();
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
  await rig.turns();
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

test("OT-90: a result settles the card that it names, once, and no other", async () => {
  await cards(chat(2), "a");
  uplink.start();
  await rig.turns();
  const [frame] = sent;
  const [a] = frame.cards;
  const answer = (result) =>
    uplink.acknowledge({
      type: "card.rendered.ack",
      requestId: frame.requestId,
      channelAccountId: ACCOUNT,
      conversationId: chat(2),
      results: [result],
    });
  for (const other of [
    { candidateKey: "key of b" },
    { cardKind: "inquiry" },
    { messageId: "b" },
  ]) {
    await answer(cardResult({ ...a, ...other }, "confirmed"));
    assert.deepEqual(statuses(), { a: "pending_ack" });
  }
  await answer(cardResult(a, "confirmed"));
  await answer(cardResult(a, "rejected", { code: "too_large" }));
  assert.deepEqual(statuses(), { a: "confirmed" });
});

test("a card that no frame can hold is put aside, and blocks no other", async () => {
  connection.welcome.limits = { ...LIMITS, maxFrameBytes: 400 };
  await cards(chat(2), "a".repeat(500), "b");
  uplink.start();
  await rig.turns();
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
  await rig.turns();
  await uplink.acknowledge(factsAck(sent[0]));
  await rig.turns();
  await uplink.acknowledge(factsAck(sent[1]));
  await rig.turns();
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
  await rig.turns();
  await facts(chat(7), 1);
  uplink.observed("facts", ACCOUNT, chat(7));
  await rig.turns();
  assert.deepEqual(
    sent.map((frame) => frame.conversationId),
    [chat(7)],
  );
});

test("newer facts outlive the ACK of those before, and go", async () => {
  await listed(chat(2));
  await facts(chat(2), 1);
  uplink.start();
  await rig.turns();
  await facts(chat(2), 2, 20);
  uplink.observed("facts", ACCOUNT, chat(2));
  await uplink.acknowledge(factsAck(sent[0]));
  await rig.later();
  assert.equal(sent[1].facts.orderCount, 2);
  await uplink.acknowledge(factsAck(sent[1]));
  assert.equal(database.all(BUYER_FACTS)[0].uploadedFingerprint, "of 2");
});

test("facts that come back are told again: Bright may have those between", async () => {
  await listed(chat(2));
  await facts(chat(2), 1);
  uplink.start();
  await rig.turns();
  await uplink.acknowledge(factsAck(sent[0]));
  await facts(chat(2), 2, 20);
  await facts(chat(2), 1, 30);
  uplink.observed("facts", ACCOUNT, chat(2));
  await rig.turns();
  assert.equal(sent[1].observedAtMs, 30);
});

test("OT-51: a new connection looks for pending facts from the start", async () => {
  await listed(chat(2));
  uplink.start();
  await rig.turns();
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
  await facts(chat(2), 1);
  uplink.start();
  await rig.turns();
  assert.equal(sent[0].conversationId, chat(2));
});

test("OT-30: facts without a checkpoint go as soon as their conversation has one", async () => {
  await facts(chat(2), 1);
  uplink.start();
  await rig.turns();
  assert.deepEqual(sent, []);
  uplink.met(ACCOUNT, await listed(chat(2)));
  await rig.turns();
  assert.equal(sent[0].conversationId, chat(2));
  uplink.met(ACCOUNT, await listed(chat(2)));
  await rig.turns();
  assert.equal(sent.length, 1);
});

test("another store is told again what the last one had of cards and facts", async () => {
  await listed(chat(2));
  await cards(chat(2), "a");
  await facts(chat(2), 1);
  uplink.start();
  await rig.turns();
  const told = sent.find((frame) => frame.type === "buyer.facts.observed");
  const drawn = sent.find((frame) => frame.type === "card.rendered.observed");
  await uplink.acknowledge(factsAck(told));
  await uplink.acknowledge({
    ...drawn,
    type: "card.rendered.ack",
    results: [cardResult(drawn.cards[0], "confirmed")],
  });
  assert.deepEqual(statuses(), { a: "confirmed" });
  assert.equal(await reofferLedgers(database, ACCOUNT, chat(3)), 0);
  assert.equal(await reofferLedgers(database, ACCOUNT, chat(2)), 2);
  assert.deepEqual(statuses(), { a: "pending_ack" });
  assert.equal("confirmedAtMs" in database.all(CARDS)[0], false);
  assert.equal(database.all(BUYER_FACTS)[0].uploadedFingerprint, null);
});

test("OT-84: facts of the future go, and an older observation counts again", async () => {
  await listed(chat(2));
  await facts(chat(2), 1, 9_999);
  uplink.start();
  await rig.turns();
  await uplink.refuse(errorOf(sent[0], "facts_observed_at_future"));
  await rig.turns();
  assert.deepEqual(database.all(BUYER_FACTS), []);
  assert.equal(await facts(chat(2), 2, 20), true);
});

test("OT-87: an ACK of one ledger settles nothing of another", async () => {
  await rig.profiles(1);
  await cards(chat(2), "a");
  await listed(chat(2));
  await facts(chat(2), 1);
  uplink.start();
  await rig.turns();
  assert.equal(sent.length, 3);
  const told = sent.find((frame) => frame.type === "buyer.facts.observed");
  await uplink.acknowledge(factsAck(told));
  await rig.turns();
  assert.deepEqual(rig.pendings(), [chat(2)]);
  assert.deepEqual(statuses(), { a: "pending_ack" });
});
