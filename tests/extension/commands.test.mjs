import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Commands } from "../../extension_harness/extension/background/commands.js";
import { Sending } from "../../extension_harness/extension/background/sending.js";
import { PageError } from "../../extension_harness/extension/shared/errors.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { MemoryStore } from "./support/memory-store.mjs";
import { until } from "./support/until.mjs";

const ACCOUNT = "2500000000001";
const CHAT = "2500000000001-3500000000002#11011@icbu";
const SCOPE = { channelAccountId: ACCOUNT, conversationId: CHAT };
const PAGE = {
  tabId: 1,
  pageId: "page",
  channelAccountId: ACCOUNT,
  route: "#/",
};

let clock;
let connection;
let results;
let faults;
let asked;
let page;
let isAllowed;
let isInPace;
let commands;

beforeEach(() => {
  clock = new ManualClock();
  results = [];
  faults = [];
  asked = [];
  isAllowed = () => true;
  isInPace = () => true;
  page = { history: () => [], send: () => ({ trouble: null }) };
  connection = {
    welcome: { accounts: [ACCOUNT] },
    serverNowMs: () => clock.now(),
    send: (frame) => results.push(frame),
  };
  const pages = {
    of: (account) => (account === ACCOUNT ? PAGE : undefined),
    ask: async (_page, kind, body) => {
      asked.push([kind, body]);
      const answer = await page[kind](body);
      return kind === "history" ? { page: { observations: answer } } : answer;
    },
  };
  const common = {
    database: new MemoryStore(),
    pages,
    clock,
    settings: () => settingsFrom({}),
  };
  commands = new Commands({
    ...common,
    connection,
    sync: { wake: () => {}, rebuild: async () => null },
    sending: new Sending({
      ...common,
      pace: { take: async () => isInPace() },
      isAllowed: async () => isAllowed(),
      attempted: () => asked.push(["walk"]),
    }),
    profiled: () => {},
    failed: (fault) => faults.push(fault.code),
  });
});

function command(name, given, changes = {}) {
  const id = `c-${Math.random()}`;
  const deadlineMs = clock.now() + 10_000;
  return {
    type: "command",
    commandId: id,
    name,
    arguments: given,
    deadlineMs,
    ...changes,
  };
}

const send = (changes) =>
  command("message.send", { ...SCOPE, text: "hello" }, changes);

/** Lets a command run to its result, the clock going on whenever it waits. */
async function settled(taken) {
  let isOver = false;
  void taken.finally(() => (isOver = true));
  await until(
    () => isOver,
    "a command comes to an end",
    () => clock.pass(100),
  );
  await taken;
  return results.at(-1);
}

const own = (id, text = "hello", conversationId = CHAT) => ({
  messageId: id,
  conversationId,
  direction: "outbound",
  text,
});
const kinds = () => asked.map(([kind]) => kind);

test("a message is sent once, and is done when the history shows it", async () => {
  page.send = () => {
    page.history = () => [own("9"), own("1")];
    return { trouble: null };
  };
  page.history = () => [own("1")];
  const sent = send();
  assert.deepEqual(await settled(commands.take(sent)), {
    type: "command.result",
    commandId: sent.commandId,
    outcome: "done",
  });
  assert.equal(kinds().filter((kind) => kind === "send").length, 1);
  assert.ok(kinds().indexOf("walk") > kinds().indexOf("send"));
});

test("OT-62: what the history does not show in time is delivery_unknown", async () => {
  page.history = () => [own("1"), own("2", "another text")];
  const result = await settled(commands.take(send()));
  assert.equal(result.outcome, "delivery_unknown");
  assert.equal(result.reason, "not_confirmed");
  assert.equal(kinds().filter((kind) => kind === "send").length, 1);
});

test("P6, OT-62: the same words in another conversation's row prove no delivery", async () => {
  page.send = () => {
    page.history = () => [own("9", "hello", "another")];
    return { trouble: null };
  };
  const result = await settled(commands.take(send()));
  assert.equal(result.outcome, "delivery_unknown");
});

test("OT-62: a page that fails in the call may have sent it", async () => {
  for (const [fail, reason] of [
    [() => ({ trouble: "page_timeout" }), "page_timeout"],
    [() => ({ trouble: "page_failed" }), "page_failed"],
    [
      () => {
        throw new PageError("page_gone", "gone");
      },
      "page_gone",
    ],
  ]) {
    page.send = fail;
    const result = await settled(commands.take(send()));
    assert.equal(result.outcome, "delivery_unknown");
    assert.equal(result.reason, reason);
  }
});

test("a page that has no call to send has sent nothing", async () => {
  page.send = () => {
    throw new PageError("surface_missing", "none");
  };
  const result = await settled(commands.take(send()));
  assert.deepEqual(
    [result.outcome, result.reason],
    ["failed", "surface_missing"],
  );
});

test("a page whose history cannot be read is not asked to send", async () => {
  page.history = () => {
    throw new PageError("login_lost", "login");
  };
  const result = await settled(commands.take(send()));
  assert.deepEqual([result.outcome, result.reason], ["failed", "page_failed"]);
  assert.deepEqual(kinds(), ["history"]);
});

test("without consent, or out of pace, the page is not asked at all", async () => {
  isAllowed = () => false;
  assert.equal(
    (await settled(commands.take(send()))).reason,
    "consent_missing",
  );
  isAllowed = () => true;
  isInPace = () => false;
  assert.equal((await settled(commands.take(send()))).reason, "paced");
  assert.deepEqual(asked, []);
});

test("consent that is taken back meanwhile counts, right before the send", async () => {
  page.history = () => {
    isAllowed = () => false;
    return [];
  };
  const result = await settled(commands.take(send()));
  assert.equal(result.reason, "consent_missing");
  assert.equal(kinds().includes("send"), false);
});

test("OT-62: a connection that is lost before the send has nothing sent", async () => {
  page.history = () => {
    connection.welcome = { accounts: [ACCOUNT] }; // another one
    return [];
  };
  await settled(commands.take(send()));
  assert.equal(kinds().includes("send"), false);
  assert.deepEqual(results, []);
});

test("OT-62: a connection that is lost after the send hears of nothing", async () => {
  page.send = () => {
    connection.welcome = { accounts: [ACCOUNT] };
    page.history = () => [own("9")];
    return { trouble: null };
  };
  await settled(commands.take(send()));
  assert.deepEqual(results, []);
});

test("OT-62: no connection hears of a command that came on another one", async () => {
  page.conversations = () => {
    connection.welcome = { accounts: [ACCOUNT] };
    return { conversations: [] };
  };
  await settled(commands.take(command("profile.snapshot", SCOPE)));
  assert.deepEqual(results, []);
});

test("a doubled command is one command", async () => {
  page.send = () => {
    page.history = () => [own("9")];
    return { trouble: null };
  };
  const sent = send();
  await Promise.all([
    settled(commands.take(sent)),
    settled(commands.take({ ...sent })),
  ]);
  await settled(commands.take(sent));
  assert.equal(kinds().filter((kind) => kind === "send").length, 1);
  assert.equal(results.length, 1);
});

test("two into one conversation at once would prove each other: one is busy", async () => {
  page.send = () => {
    page.history = () => [own("9")];
    return { trouble: null };
  };
  await Promise.all([
    settled(commands.take(send())),
    settled(commands.take(send())),
  ]);
  assert.deepEqual(results.map((each) => each.reason).sort(), [
    "busy",
    undefined,
  ]);
});

test("the deadline is by Bright's clock, and nothing begins after it", async () => {
  connection.serverNowMs = () => clock.now() + 3_600_000;
  const late = send();
  assert.equal((await settled(commands.take(late))).reason, "deadline_passed");
  assert.deepEqual(asked, []);
});

test("what cannot be understood is refused with its reason", async () => {
  for (const [name, given, reason] of [
    ["message.send", { ...SCOPE, text: "" }, "arguments_invalid"],
    [
      "message.send",
      { ...SCOPE, text: "x".repeat(20_001) },
      "arguments_invalid",
    ],
    [
      "message.send",
      { channelAccountId: ACCOUNT, text: "x" },
      "arguments_invalid",
    ],
    ["message.send", undefined, "arguments_invalid"],
    ["profile.snapshot", { channelAccountId: ACCOUNT }, "arguments_invalid"],
    [
      "conversation.sync",
      { channelAccountId: ACCOUNT, rebuild: true },
      "arguments_invalid",
    ],
    ["message.burn", SCOPE, "command_unsupported"],
    [
      "message.send",
      { ...SCOPE, channelAccountId: "9", text: "x" },
      "page_missing",
    ],
  ]) {
    const result = await settled(commands.take(command(name, given)));
    assert.deepEqual([result.outcome, result.reason], ["failed", reason], name);
  }
});

test("OT-65: a route that names no conversation is the reason", async () => {
  for (const reason of ["route_missing", "route_ambiguous"]) {
    page.describe = () => ({
      channelAccountId: ACCOUNT,
      conversationId: null,
      routeReason: reason,
    });
    const sync = command("conversation.sync", { channelAccountId: ACCOUNT });
    assert.equal((await settled(commands.take(sync))).reason, reason);
  }
});

test("a conversation that was never met cannot be read again", async () => {
  for (const rebuild of [false, true]) {
    const sync = command("conversation.sync", { ...SCOPE, rebuild });
    assert.equal(
      (await settled(commands.take(sync))).reason,
      "conversation_unknown",
    );
  }
});

test("OT-87: a profile that is not there, or never comes, is a diagnostic", async () => {
  page.conversations = () => ({ conversations: [{ conversationId: CHAT }] });
  const missing = await settled(
    commands.take(command("profile.snapshot", SCOPE)),
  );
  assert.equal(missing.reason, "profile_missing");

  page.conversations = () => {
    throw new PageError("page_timeout", "late");
  };
  const late = await settled(commands.take(command("profile.snapshot", SCOPE)));
  assert.equal(late.reason, "page_timeout");
  assert.deepEqual(faults, ["profile_not_observed"]);

  page.conversations = () => new Promise(() => {});
  const never = await settled(
    commands.take(command("profile.snapshot", SCOPE)),
  );
  assert.equal(never.reason, "deadline_passed");
});

test("more at once than may be are refused", async () => {
  page.conversations = () => new Promise(() => {});
  const taken = Array.from({ length: 9 }, () =>
    commands.take(command("profile.snapshot", SCOPE)),
  );
  await settled(Promise.all(taken));
  const reasons = results.map((each) => each.reason);
  assert.equal(reasons.filter((each) => each === "busy").length, 1);
});
