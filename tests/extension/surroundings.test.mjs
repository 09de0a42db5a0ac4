// What a page shows beside its messages: cards as it draws them, facts about buyers.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { recordFacts } from "../../extension_harness/extension/background/buyer-facts.js";
import { recordRenderedCards } from "../../extension_harness/extension/background/cards.js";
import { candidateKey } from "../../extension_harness/extension/shared/keys.js";
import {
  ANOMALIES,
  BUYER_FACTS,
  CARDS,
} from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";
import { pageWorld, plain } from "./support/page-world.mjs";

const SELLER = "2500000000001";
const BUYER = "3500000000002";
const CID = `${SELLER}-${BUYER}#11011@icbu`;
const OTHER = `${SELLER}-4500000000003#11011@icbu`;
const INFO = {
  firstName: "Ines",
  companyName: "Casa Verde",
  country: "BR",
  encryptAccountId: "MC1a",
  registerDate: 1_600_000_000,
  growthLevelInfo: { growthLevel: "L2" },
  preferredIndustries: ["Hardware", null],
  productViewCount: -1,
  validInquiryCount: 3,
  loginDays: null,
  totalOrderCount: "4",
  buyerContactInfo: { email: "ines@example.com", mobileNumber: "+55" },
};
const FACTS = {
  country: "BR",
  level: "L2",
  registeredAtMs: 1_600_000_000_000,
  industries: ["Hardware"],
  validInquiryCount: 3,
  orderCount: 4,
};

function pageOf(...rows) {
  const { bright, window } = pageWorld({ aliId: SELLER });
  window.__conversationListFullData__ = rows;
  return { bright, window };
}

const row = (cid, accountIdEncrypt) => ({
  cid,
  contact: { accountIdEncrypt, aliId: BUYER },
});
const answerOf = (buyerInfo) => ({ data: { data: { buyerInfo } } });

test("M33: hidden and absent counts are none; how to reach the buyer is left out", () => {
  const { bright } = pageOf(row(CID, "MC1a"));
  const read = bright.adapters.customerCard.read(answerOf(INFO), "MC1a");
  assert.deepEqual(plain(read), { conversationId: CID, facts: FACTS });
});

test("M33: another customer's answer, an empty one, or one of two becomes nobody's", () => {
  const { bright } = pageOf(row(CID, "MC1a"), row(OTHER, "MC1b"));
  const { read } = bright.adapters.customerCard;
  assert.equal(read(answerOf(INFO), "MC1b"), null);
  assert.equal(read(answerOf({}), "MC1a"), null);
  assert.equal(read({ success: false }, "MC1a"), null);
  const doubled = pageOf(row(CID, "MC1a"), row(OTHER, "MC1a"));
  assert.equal(
    doubled.bright.adapters.customerCard.read(answerOf(INFO), "MC1a"),
    null,
  );
});

/** A drawn card; `texts.title` absent: its texts have not come yet. */
function drawn(messageId, texts = {}) {
  const element = (textContent) => ({ textContent });
  return {
    closest: () => ({ dataset: { expinfo: JSON.stringify({ messageId }) } }),
    querySelector: () =>
      texts.title === undefined ? null : element(texts.title),
    querySelectorAll: () => (texts.lines ?? []).map(element),
  };
}

function cardsOf(kind = "order_card") {
  const { bright, window } = pageOf();
  const { renderedCards } = bright.adapters;
  renderedCards.remember(CID, [
    { conversationId: CID, kind, messageId: "7", sentAtMs: 70 },
    { conversationId: OTHER, kind, messageId: "8", sentAtMs: 80 },
  ]);
  const look = (...cards) => {
    window.document.querySelectorAll = () => cards;
    return plain(renderedCards.look());
  };
  return { look };
}

test("P6: a card is its message's, whose row says whose it is, and reads the same twice", () => {
  const { look } = cardsOf();
  const card = drawn("7.PNM", { title: " Order 1 ", lines: ["a", " "] });
  assert.deepEqual(look(drawn("7.PNM")), { cards: [], isSettled: true });
  assert.deepEqual(look(card), { cards: [], isSettled: false });
  assert.deepEqual(look(card), {
    cards: [
      {
        messageId: "7",
        conversationId: CID,
        sentAtMs: 70,
        cardKind: "order_card",
        content: { title: "Order 1", lines: ["a"] },
      },
    ],
    isSettled: true,
  });
  assert.deepEqual(look(card), { cards: [], isSettled: true });
});

test("P6: of a row that another conversation's answer brought, nothing is told", () => {
  const { look } = cardsOf();
  const card = drawn("8", { title: "Order 2" });
  look(card);
  assert.deepEqual(look(card).cards, []);
});

test("OT-86: of a person's own card nothing is read", () => {
  const { look } = cardsOf("business_card");
  const card = drawn("7", { title: "someone@example.com" });
  look(card);
  assert.deepEqual(look(card).cards, []);
});

let store;

beforeEach(() => {
  store = new MemoryStore();
});

const told = (title, more = {}) => ({
  conversationId: CID,
  messageId: "7",
  sentAtMs: 70,
  cardKind: "order_card",
  content: { title, lines: ["https://x/?sign=ABC&a=1"] },
  ...more,
});

test("OT-90: the first content stays, cleaned; another is kept as an anomaly", async () => {
  assert.equal(
    await recordRenderedCards(store, SELLER, [told("Order 1")], 5),
    1,
  );
  assert.equal(
    await recordRenderedCards(store, SELLER, [told("Order 1")], 6),
    0,
  );
  assert.equal(
    await recordRenderedCards(store, SELLER, [told("Order 2")], 7),
    0,
  );
  const [card] = store.all(CARDS);
  assert.deepEqual(card.content, {
    title: "Order 1",
    lines: ["https://x/?sign=[redacted]&a=1"],
  });
  assert.equal(card.candidateKey, candidateKey(SELLER, CID, 70, "7"));
  assert.equal(card.observedAtMs, 5);
  assert.deepEqual(
    store.all(ANOMALIES).map(({ code }) => code),
    ["card_conflict"],
  );
});

test("what a page says of cards is not taken for its word", async () => {
  const wrong = [
    null,
    told(""),
    told("x", { messageId: "" }),
    told("x", { sentAtMs: "7" }),
    told("x", { cardKind: "business_card" }),
    told("x", { conversationId: "c".repeat(300) }),
    told("x", { content: "x" }),
  ];
  assert.equal(await recordRenderedCards(store, SELLER, wrong, 5), 0);
  assert.equal(await recordRenderedCards(store, SELLER, "none", 5), 0);
  assert.deepEqual(store.all(CARDS), []);
});

test("OT-87: a card that cannot be kept is a fault of its own", async () => {
  store.write = () => Promise.reject(new Error("damaged"));
  await assert.rejects(recordRenderedCards(store, SELLER, [told("x")], 5), {
    code: "cards_not_recorded",
  });
  await assert.rejects(
    recordFacts(store, SELLER, [{ conversationId: CID, facts: FACTS }], 5),
    { code: "facts_not_recorded" },
  );
});

test("facts are known ones, bounded; latest wins, the same again is the same", async () => {
  const said = {
    ...FACTS,
    email: "ines@example.com",
    orderCount: -1,
    level: 7,
  };
  const entry = { conversationId: CID, facts: said };
  assert.deepEqual(await recordFacts(store, SELLER, [entry, null, {}], 10), [
    CID,
  ]);
  const [record] = store.all(BUYER_FACTS);
  const { level: _level, orderCount: _orders, ...known } = FACTS;
  assert.deepEqual(record.facts, known);
  assert.deepEqual(await recordFacts(store, SELLER, [entry], 10), []);
  assert.deepEqual(await recordFacts(store, SELLER, [entry], 11), [CID]);
  assert.equal(store.all(BUYER_FACTS)[0].fingerprint, record.fingerprint);
  assert.deepEqual(
    await recordFacts(store, SELLER, [{ conversationId: CID, facts: {} }], 12),
    [],
  );
});
