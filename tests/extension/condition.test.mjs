// What the page's adapters find wrong with the page, and what they do not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pageWorld, plain } from "./support/page-world.mjs";

const PATIENCE_MS = 20_000;
const LOGIN =
  "<html><form action=/newlogin/icbuLogin.htm>Sign in</form></html>";
const CAPTCHA = '<html><div id="baxia-punish">Slide to verify</div></html>';

/** A page whose document and clock are the test's. */
function page({ aliId = "2500000000001", sdk = true } = {}) {
  const { bright, window } = pageWorld({
    aliId,
    fetch: async () => window.answer,
  });
  const here = { text: "x".repeat(5_000), shown: {}, searches: [], now: 0 };
  window.performance = { now: () => here.now };
  window.document = {
    readyState: "complete",
    body: {
      get innerText() {
        return here.text;
      },
    },
    querySelectorAll(selector) {
      if (selector.includes("search")) return here.searches;
      const name = Object.keys(here.shown).find((each) =>
        selector.includes(each),
      );
      return name === undefined ? [] : here.shown[name];
    },
  };
  if (sdk) window.IcbuIM = { IMBaaSSDK: { default: {} } };
  const after = (milliseconds) => {
    here.now += milliseconds;
    return plain(bright.adapters.condition.read());
  };
  return { bright, here, window, after, note: bright.adapters.condition.note };
}

const element = (textContent, height = 20) => ({
  textContent,
  checkVisibility: () => true,
  getBoundingClientRect: () => ({ height }),
});

function codeOf(bright, answer) {
  try {
    bright.http.readAnswer(
      typeof answer === "string" ? answer : JSON.stringify(answer),
    );
    return null;
  } catch (error) {
    return error.code;
  }
}

test("P1, P2: a login and a captcha are known in every form that they come in", () => {
  const { bright } = page();
  const login = [
    LOGIN,
    { code: 401 },
    { code: "401" },
    { code: 200, data: { hasLogin: false } },
  ];
  for (const answer of login) {
    assert.equal(codeOf(bright, answer), "login_lost", JSON.stringify(answer));
  }
  const captcha = [
    CAPTCHA,
    { ret: ["FAIL_SYS_USER_VALIDATE"], data: { url: "x" } },
    { url: "https://a/_____tmd_____/punish?x5secdata=1" },
  ];
  for (const answer of captcha) {
    assert.equal(codeOf(bright, answer), "captcha", JSON.stringify(answer));
  }
  assert.equal(codeOf(bright, "<html>maintenance</html>"), "page_not_json");
  assert.equal(codeOf(bright, { code: 500 }), "page_refused");
  // What people write to each other is no word of the page.
  const said = {
    code: 200,
    data: { list: [{ content: "baxia punish newlogin" }] },
  };
  assert.equal(codeOf(bright, said), null);
});

test("P1, P15: a redirect is a login that was lost, 429 and 503 are a busy page", async () => {
  const { bright, window } = page();
  const codeFor = async (response) => {
    window.answer = response;
    return bright.http.get("/x", 1_000).then(
      () => null,
      (error) => error.code,
    );
  };
  assert.equal(await codeFor({ type: "opaqueredirect" }), "login_lost");
  for (const status of [429, 503]) {
    const answer = new Response("{}", { status });
    assert.equal(await codeFor(answer), "page_busy");
  }
  const broken = new Response("{}", { status: 500 });
  assert.equal(await codeFor(broken), "page_refused");
});

test("P2: a captcha is named as long as it is shown", () => {
  const { here, after } = page();
  here.shown["baxia-dialog"] = [element("Slide to verify", 0)];
  assert.deepEqual(after(2_000), []);
  here.shown["baxia-dialog"] = [element("Slide to verify")];
  assert.deepEqual(after(2_000), ["captcha"]);
  here.shown["baxia-dialog"] = [];
  assert.deepEqual(after(2_000), []);
});

test("P2: a captcha that answers showed ends with a good one", () => {
  const { after, note } = page();
  note("listRecentMessage", "captcha");
  assert.deepEqual(after(0), ["captcha"]);
  note("unread", null);
  assert.deepEqual(after(0), []);
});

test("P1: a login is lost until anything is answered over HTTP", () => {
  const { after, note } = page();
  note("listRecentMessage", "login_lost");
  note("sdkHistory", null);
  assert.deepEqual(after(0), ["login_lost"]);
  note("unread", null);
  assert.deepEqual(after(0), []);
});

test("P15, P7: any good answer ends being busy; silence ends with the call's own", () => {
  const { after, note } = page();
  note("listRecentMessage", "page_busy");
  note("sdkHistory", "page_timeout");
  assert.deepEqual(after(0), ["history_silent", "page_busy"]);
  note("unread", null);
  assert.deepEqual(after(0), ["history_silent"]);
  note("sdkHistory", null);
  assert.deepEqual(after(0), []);
  note("unread", "page_refused");
  note("unread", "page_not_json");
  assert.deepEqual(after(0), [], "an error of a call is no state of the page");
});

test("P3: the banner counts where it is seen", () => {
  const { here, after } = page();
  here.shown.status = [element("网络连接已经断开", 0)];
  assert.deepEqual(after(2_000), []);
  here.shown.status = [element("All is well"), element("网络连接已经断开")];
  assert.deepEqual(after(2_000), ["disconnected"]);
});

test("P3, P5: dead is a page that shows nothing of what it knows, for long", () => {
  const { bright, here, after } = page();
  here.text = "OneTalk";
  bright.adapters.conversationLists.take([{ cid: "25-35#11011@icbu" }]);
  assert.deepEqual(after(2_000), [], "flapping for a moment is no death");
  here.shown["contact-item"] = [element("Ines")];
  assert.deepEqual(after(PATIENCE_MS), []);
  // After a switch of tabs rows stay in the list that are not shown.
  here.shown["contact-item"] = [element("Ines", 0)];
  assert.deepEqual(after(2_000), []);
  here.searches = [{ value: "nobody" }];
  assert.deepEqual(
    after(PATIENCE_MS),
    [],
    "P11: a search for nobody finds none",
  );
  here.searches = [];
  after(2_000);
  assert.deepEqual(after(PATIENCE_MS), ["page_dead"]);
  here.text = "x".repeat(5_000);
  assert.deepEqual(after(2_000), []);
});

test("P4: loading is trouble when it does not end", () => {
  const { here, after } = page();
  here.text = "Alibaba is loading...";
  assert.deepEqual(after(2_000), []);
  assert.deepEqual(after(PATIENCE_MS), ["still_loading"]);
});

test("P5: rows that are not shown under a page in health are no trouble", () => {
  const { bright, here, after } = page();
  bright.adapters.conversationLists.take([{ cid: "25-35#11011@icbu" }]);
  here.shown["contact-item"] = [element("Ines", 0)];
  after(2_000);
  assert.deepEqual(after(PATIENCE_MS), []);
});

test("P5: a list that is empty for a moment, again and again, is no dead one", () => {
  const { bright, here, after } = page();
  here.text = "OneTalk";
  bright.adapters.conversationLists.take([{ cid: "25-35#11011@icbu" }]);
  for (let time = 0; time < 20; time += 1) {
    here.shown["contact-item"] = [];
    assert.deepEqual(after(2_000), []);
    here.shown["contact-item"] = [element("Ines")];
    assert.deepEqual(after(2_000), []);
  }
});

test("P7: a late SDK is none, one that stays away is", () => {
  const { window, after } = page({ sdk: false });
  after(2_000);
  assert.deepEqual(after(PATIENCE_MS - 1), []);
  assert.deepEqual(after(2_000), ["sdk_missing"]);
  window._imBaaSSDK = {};
  assert.deepEqual(after(2_000), []);
});

test("P1: a page that does not say whose it is is named after its patience", () => {
  const { after } = page({ aliId: null });
  assert.deepEqual(after(2_000), []);
  assert.deepEqual(after(PATIENCE_MS), ["account_unknown"]);
});
