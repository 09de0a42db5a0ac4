// What the page's side does with a question while something is wrong with the page, and
// what it tells of that by itself.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bridgeWorld } from "./support/bridge-world.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "2500000000001";
const OTHER = "2500000000009";
const CHAT = `${ACCOUNT}-3500000000002#11011@icbu`;
const ASK = { conversationId: CHAT, cursor: null, count: 20, timeoutMs: 1_000 };
const RECENT = "/message/listRecentMessage.htm";
const OLDER = "/message/getChatMessageList.htm";
const UNREAD = "/message/manager/unread.htm";
const LOGIN =
  "<html><form action=/newlogin/icbuLogin.htm>Sign in</form></html>";
const CAPTCHA = '<html><div id="baxia-punish">Slide to verify</div></html>';
const METHOD = "listMessageWithConversationCodeForHistory";

const row = (messageId) => ({
  messageId,
  conversationId: CHAT,
  senderAliId: "3500000000002",
  sendTime: 1_760_000_000_123,
  messageType: 1,
  content: "hello",
});
const rows = (path) =>
  path === RECENT ? { code: 200, data: { list: [row("7")] } } : {};

/** A page whose messaging SDK has these services. */
function sdkOf(services) {
  return { IMBaaSSDK: { default: services } };
}

const troublesOf = async ({ ask }) => (await ask("describe")).answer.troubles;
const histories = (asked) =>
  asked.filter((path) => [RECENT, OLDER].includes(path));

test("P1, P2: where nobody is let in, no other surface is tried", async () => {
  for (const [answer, code] of [
    [LOGIN, "login_lost"],
    [CAPTCHA, "captcha"],
  ]) {
    const world = bridgeWorld({ answers: () => answer });
    const { error } = await world.ask("history", ASK);
    assert.equal(error.code, code);
    assert.deepEqual(histories(world.asked), [RECENT]);
    assert.deepEqual(await troublesOf(world), [code]);
  }
});

test("P1, P2, P15: what the page's own calls are answered is told unasked", async () => {
  for (const [answer, trouble] of [
    [() => LOGIN, "login_lost"],
    [() => ({ code: 200, data: { hasLogin: false } }), "login_lost"],
    [() => ({ ret: ["FAIL_SYS_USER_VALIDATE"] }), "captcha"],
    [() => new Response("{}", { status: 429 }), "page_busy"],
    [() => new Response("{}", { status: 503 }), "page_busy"],
  ]) {
    let isWell = false;
    const world = bridgeWorld({
      answers: () => (isWell ? { code: 200 } : answer()),
    });
    const said = () => world.told.filter(([kind]) => kind === "troubles");
    const becomes = (troubles) =>
      until(
        () => said().at(-1)?.[1].troubles.join() === troubles,
        `the page says "${troubles}"`,
        () => world.clock.pass(250),
      );
    await world.window.fetch(UNREAD);
    await becomes(trouble);
    assert.equal(said()[0][1].channelAccountId, ACCOUNT);
    isWell = true;
    await world.window.fetch(UNREAD);
    await becomes("");
    assert.equal(said().length, 2, "each change is told once");
  }
});

test("P7: a call-back that never comes is named, and the next surface is asked", async () => {
  const world = bridgeWorld({ answers: rows });
  let calls = 0;
  const service = { [METHOD]: () => void (calls += 1) };
  world.window.IcbuIM = sdkOf({ getMessageServiceV2: () => service });
  const answered = world.ask("history", ASK);
  world.clock.pass(1_000);
  const { answer } = await answered;
  assert.equal(answer.page.surface, "listRecentMessage");
  assert.equal(calls, 1);
  assert.deepEqual(await troublesOf(world), ["history_silent"]);
  await world.ask("history", ASK);
  assert.equal(calls, 1, "it is left alone for a while");
});

test("P7: an SDK's empty shell is passed over for the part that can answer", async () => {
  const world = bridgeWorld({ answers: rows });
  const whole = { [METHOD]: (ask) => ask.dataCallback({ data: [row("8")] }) };
  world.window.IcbuIM = sdkOf({
    getMessageServiceV2: () => ({}),
    getMessageService: () => whole,
  });
  const { answer } = await world.ask("history", ASK);
  assert.equal(answer.page.surface, "sdkHistory");
});

test("P8: another account's question is not answered, and the change is told", async () => {
  const { ask, clock, told, window } = bridgeWorld({ answers: rows });
  window.aliId = OTHER;
  const { error } = await ask("history", { ...ASK, channelAccountId: ACCOUNT });
  assert.equal(error.code, "account_changed");
  clock.pass(250);
  assert.deepEqual(
    told.filter(([kind]) => kind === "account").map(([, body]) => body),
    [
      { channelAccountId: ACCOUNT, route: "" },
      { channelAccountId: OTHER, route: "" },
    ],
  );
});

test("P13: a text goes out by the page's own call, to the page's own conversation", async () => {
  const sent = [];
  const { ask, window } = bridgeWorld();
  const service = { sendUIMessages: (message) => void sent.push(message) };
  window.IcbuIM = sdkOf({ getMessageServiceV2: () => service });
  window.__conversationListFullData__ = [
    { cid: "3500000000002-2500000000001#11011" },
  ];
  await ask("conversations", { timeoutMs: 1_000 });
  const { answer } = await ask("send", {
    conversationId: CHAT,
    text: "hello",
    timeoutMs: 1_000,
  });
  assert.deepEqual(answer, { isAnswered: true, trouble: null });
  assert.deepEqual(
    sent.map(({ cid, content }) => [cid, content]),
    [["3500000000002-2500000000001#11011@icbu", "hello"]],
  );
});
