// What the worker keeps of the trouble of its tabs, and whom it tells.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Health } from "../../extension_harness/extension/background/health.js";
import { Pages } from "../../extension_harness/extension/background/pages.js";
import { ManualClock } from "./support/manual-clock.mjs";

const ACCOUNT = "2500000000001";
const PAGE = {
  tabId: 7,
  pageId: "p1",
  channelAccountId: ACCOUNT,
  route: "",
};

let connection;
let health;
let recovered;
let blind;
let sent;

beforeEach(() => {
  sent = [];
  recovered = [];
  blind = [];
  connection = {
    welcome: { accounts: [ACCOUNT] },
    send: (frame) => sent.push(frame),
  };
  health = new Health({
    connection,
    recovered: (account, wasBlind) => {
      recovered.push(account);
      if (wasBlind) blind.push(account);
    },
    changed: () => {},
  });
});

const said = () =>
  sent
    .splice(0)
    .map(({ pageId, isOpen, troubles }) => [pageId, isOpen, troubles.join()]);

test("a page in health is no news, trouble is told once, and its end again", () => {
  health.told(7, PAGE, []);
  assert.deepEqual(said(), []);
  health.told(7, PAGE, ["login_lost"]);
  health.told(7, PAGE, ["login_lost"]);
  assert.deepEqual(said(), [["p1", true, "login_lost"]]);
  assert.equal(health.isClosed(7), true);
  health.told(7, PAGE, []);
  assert.deepEqual(said(), [["p1", true, ""]]);
  assert.deepEqual(recovered, [ACCOUNT]);
  assert.equal(health.isClosed(7), false);
});

test("P3: dead is what showed nothing, until it shows something", () => {
  health.lied(PAGE);
  health.told(7, PAGE, ["disconnected"]);
  health.answered(PAGE);
  assert.deepEqual(health.of(7), ["disconnected", "page_dead"]);
  health.lives(PAGE);
  assert.deepEqual(health.of(7), ["disconnected"]);
});

test("OT-63: a new connection is told what is wrong now, and of nothing else", () => {
  connection.welcome = null;
  health.told(7, PAGE, ["captcha"]);
  health.told(8, { pageId: "p2", channelAccountId: ACCOUNT }, []);
  assert.deepEqual(said(), []);
  connection.welcome = { accounts: [ACCOUNT] };
  health.tellAll();
  assert.deepEqual(said(), [["p1", true, "captcha"]]);
});

test("OT-60: of an account that the binding does not hold nothing is told", () => {
  health.told(7, { pageId: "p9", channelAccountId: "9" }, ["page_dead"]);
  health.closed(7);
  assert.deepEqual(said(), []);
});

test("P7: an orphan's tab is well with the page that comes into it", () => {
  health.unreached(7);
  assert.deepEqual(said(), [["tab-7", true, "needs_reload"]]);
  health.opened(PAGE);
  assert.deepEqual(said(), [["tab-7", false, ""]]);
  assert.deepEqual(health.troubled, []);
});

test("P8: another account in the same page takes its trouble along", () => {
  health.told(7, PAGE, ["page_busy"]);
  connection.welcome = { accounts: [ACCOUNT, "9"] };
  health.opened({ ...PAGE, channelAccountId: "9" }, PAGE);
  assert.equal(sent.at(-1).channelAccountId, "9");
});

test("what is no word of trouble goes nowhere", () => {
  health.told(7, PAGE, ["Login lost!", 5, null, "x".repeat(65), "captcha"]);
  assert.deepEqual(health.of(7), ["captcha"]);
  health.told(7, PAGE, "captcha");
  assert.deepEqual(health.of(7), []);
});

function pagesOf(askTab, clock = new ManualClock()) {
  const pages = new Pages({
    browser: { pageTabs: async () => [{ id: 7 }], askTab },
    clock,
    health,
    registered: () => {},
  });
  return { clock, pages };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("P7: nobody who listens is looked for again before a tab counts as an orphan", async () => {
  let isOrphan = true;
  const { clock, pages } = pagesOf(async () => {
    if (isOrphan) throw new Error("Receiving end does not exist.");
    const answer = { channelAccountId: ACCOUNT, route: "", troubles: [] };
    return { pageId: "p1", answer };
  });
  await pages.look(1_000);
  assert.deepEqual(health.troubled, [], "it may just be loading");
  clock.pass(3_000);
  await turn();
  await turn();
  assert.deepEqual(health.of(7), ["needs_reload"]);
  isOrphan = false;
  await pages.look(1_000);
  assert.deepEqual(health.troubled, []);
});

test("P3: a page that answers nothing is silent; one whose own call is late is not", async () => {
  let answer = () => Promise.resolve({ error: { code: "page_timeout" } });
  const { clock, pages } = pagesOf(() => answer());
  pages.register(PAGE);
  await assert.rejects(pages.ask(PAGE, "history", {}, 1_000));
  assert.deepEqual(health.of(7), []);
  answer = () => new Promise(() => {});
  const asked = pages.ask(PAGE, "history", {}, 1_000);
  clock.pass(1_000);
  await assert.rejects(asked);
  assert.deepEqual(health.of(7), ["page_silent"]);
  answer = () => Promise.resolve({ answer: {} });
  await pages.ask(PAGE, "history", {}, 1_000);
  assert.deepEqual(health.of(7), []);
});

test("P4: a page that does not say whose it is takes the place of the one before", async () => {
  const { pages } = pagesOf(async () => ({
    pageId: "p2",
    answer: { channelAccountId: null, troubles: ["still_loading"] },
  }));
  pages.register(PAGE);
  await pages.look(1_000);
  assert.equal(pages.of(ACCOUNT), undefined);
  assert.deepEqual(said(), [
    ["p1", false, ""],
    ["p2", true, "still_loading"],
  ]);
});

test("P3: a page that is looked at and does not answer is silent, and is still known", async () => {
  const { clock, pages } = pagesOf(() => new Promise(() => {}));
  pages.register(PAGE);
  const looked = pages.look(1_000);
  await turn();
  clock.pass(1_000);
  await looked;
  assert.deepEqual(health.of(7), ["page_silent"]);
  assert.equal(pages.of(ACCOUNT).pageId, "p1");
});

test("P3, OT-43: a page that nobody knows and that does not answer is looked at again", async () => {
  let answer = () => Promise.resolve({ error: { code: "page_failed" } });
  const { clock, pages } = pagesOf(() => answer());
  await pages.look(1_000);
  assert.deepEqual(health.of(7), ["page_silent"]);
  assert.equal(
    pages.isAnyOpen,
    true,
    "the alarm stays, and with it the next look",
  );

  answer = () => new Promise(() => {});
  const looked = pages.look(1_000);
  await turn();
  clock.pass(1_000);
  await looked;
  assert.equal(pages.isAnyOpen, true);
  const described = { channelAccountId: ACCOUNT, route: "", troubles: [] };
  answer = () => Promise.resolve({ pageId: "p1", answer: described });
  await pages.look(1_000);
  assert.deepEqual(health.troubled, []);
  assert.equal(pages.of(ACCOUNT).pageId, "p1");
});

test("P8: another account in one tab is another page, and takes the place of the one before", async () => {
  const registered = [];
  const pages = new Pages({
    browser: {},
    clock: new ManualClock(),
    health,
    registered: (page) => registered.push(page.channelAccountId),
  });
  pages.register(PAGE);
  assert.equal(pages.register({ ...PAGE, channelAccountId: "9" }), true);
  assert.deepEqual(registered, [ACCOUNT, "9"]);
  assert.equal(pages.of(ACCOUNT), undefined);
  assert.equal(pages.of("9").tabId, 7);
});

test("P8: of two tabs of one account the newer is asked, and the other when it is gone", async () => {
  const { pages } = pagesOf(async () => ({ answer: {} }));
  pages.register(PAGE);
  pages.register({ ...PAGE, tabId: 8, pageId: "p2" });
  assert.equal(pages.of(ACCOUNT).pageId, "p2");
  pages.gone(8, "p2");
  assert.equal(pages.of(ACCOUNT).pageId, "p1");
});

test("P1, P2: a login and a captcha shut the page's door; nothing else does", () => {
  for (const [trouble, isClosed] of [
    ["login_lost", true],
    ["captcha", true],
    ["page_busy", false],
    ["disconnected", false],
  ]) {
    health.told(7, PAGE, [trouble]);
    assert.equal(health.isClosed(7), isClosed, trouble);
  }
});

test("P3: after some troubles a page may have missed what was said meanwhile", () => {
  health.told(7, PAGE, ["page_busy"]);
  health.told(7, PAGE, []);
  assert.deepEqual(blind, []);
  health.told(7, PAGE, ["disconnected"]);
  assert.deepEqual(
    blind,
    [],
    "not while it lasts: it would be marked too early",
  );
  health.told(7, PAGE, []);
  health.silent(PAGE);
  health.answered(PAGE);
  assert.deepEqual(blind, [ACCOUNT, ACCOUNT]);
});

test("P3, P8: of several pages of an account one is asked that answers", () => {
  const pages = new Pages({
    browser: {},
    clock: new ManualClock(),
    health,
    registered: () => {},
  });
  pages.register(PAGE);
  const newer = { ...PAGE, tabId: 8, pageId: "p2" };
  pages.register(newer);
  assert.equal(pages.of(ACCOUNT), newer);
  health.silent(newer);
  assert.equal(pages.of(ACCOUNT), PAGE);
  health.lied(PAGE);
  assert.equal(pages.of(ACCOUNT), newer, "or the newest, where none does");
  health.answered(newer);
  assert.equal(pages.of(ACCOUNT), newer);
});
