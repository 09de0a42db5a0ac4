import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const SOURCE = new URL(
  "../../extension_harness/extension/content/observer.js",
  import.meta.url,
);

/** Runs the observer over a worker that answers as told; timers run at once. */
function observer(answers) {
  const told = [];
  const listeners = {};
  const window = {
    addEventListener: (type, listener) => (listeners[type] = listener),
    dispatchEvent: () => {},
  };
  const chrome = {
    runtime: {
      id: "id",
      onMessage: { addListener: () => {} },
      sendMessage: async (message) => {
        told.push(message);
        return answers.shift()(message);
      },
    },
    i18n: { getMessage: (name) => name },
  };
  const shown = [];
  const document = {
    getElementById: () => null,
    documentElement: { append: (host) => shown.push(host.dataset.notice) },
    createElement: () => ({
      append: () => {},
      attachShadow: () => ({ append: () => {} }),
      dataset: {},
      setAttribute: () => {},
      style: {},
    }),
  };
  const looks = new Set();
  let isOver = false;
  vm.runInNewContext(readFileSync(SOURCE, "utf8"), {
    window,
    document,
    chrome,
    crypto,
    CustomEvent: class {},
    setTimeout: (callback) => isOver || setImmediate(callback),
    setInterval: (callback) => looks.add(callback) && callback,
    clearInterval: (callback) => looks.delete(callback),
  });
  const says = (kind, body) =>
    listeners["bright:from-page"]({ detail: JSON.stringify({ kind, body }) });
  const look = () => looks.forEach((each) => each());
  const orphan = () => delete chrome.runtime.id;
  const end = () => (isOver = true);
  return { told, says, shown, end, look, looks, orphan };
}

const died = () => {
  throw new Error("The message port closed before a response was received.");
};

async function until(holds) {
  for (let turn = 0; turn < 1_000 && !holds(); turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(holds());
}

test("a greeting that a worker died of is told again", async () => {
  const answers = [died, () => undefined, () => ({ known: true })];
  const { told, says } = observer(answers);
  says("account", { channelAccountId: "1", route: "" });

  await until(() => answers.length === 0);
  assert.deepEqual(
    told.map(({ type }) => type),
    ["page.hello", "page.hello", "page.hello"],
  );
});

test("what was observed is told until it is stored, in the order seen", async () => {
  const answers = [
    died,
    () => ({ stored: false }),
    () => ({ stored: true }),
    () => ({ stored: true }),
  ];
  const { told, says } = observer(answers);
  says("observed", { rows: [1] });
  says("observed", { rows: [2] });

  await until(() => answers.length === 0);
  const rows = told.map(({ body }) => JSON.parse(body).rows[0]);
  assert.deepEqual(rows, [1, 1, 1, 2]);
});

test("where something was lost is told before anything newer, until it is known", async () => {
  let isKnown = false;
  const hellos = [];
  const worker = ({ type, body }) => {
    if (type !== "page.hello") return { stored: isKnown };
    hellos.push(JSON.parse(body).lost);
    return { known: isKnown };
  };
  const answers = { shift: () => worker };
  const { told, says } = observer(answers);
  says("account", { channelAccountId: "1", route: "" });
  const batch = (rows) => ({
    channelAccountId: "1",
    conversationId: null,
    rows,
  });
  for (let n = 0; n < 2_000; n += 1) says("observed", batch([n]));
  says(
    "observed",
    batch([{ conversationId: "a" }, { conversationId: "b" }, {}]),
  );
  says("observed", { ...batch([1]), conversationId: "c" });
  says("dropped", { channelAccountId: "1", conversationId: null });

  const lost = [
    ["1", "a"],
    ["1", "b"],
    ["1", "c"],
    ["1", null],
  ];
  await until(() => hellos.filter((each) => each.length === 4).length > 1);
  assert.deepEqual(hellos.at(-1), lost);
  isKnown = true;
  const before = told.length;
  await until(() =>
    told.slice(before).some(({ type }) => type === "page.observed"),
  );
  const next = told.slice(before).map(({ type }) => type);
  assert.equal(
    next.indexOf("page.observed"),
    1,
    "a greeting first, and that alone",
  );
  says("account", { channelAccountId: "1", route: "#again" });
  await until(() => hellos.at(-1).length === 0);
});

test("P9: what a worker took and died of is told to the next one, and nothing behind it before", async () => {
  const stored = [];
  const dying = ({ body }) => {
    stored.push(JSON.parse(body).rows[0]); // on disk, and then it died
    return died();
  };
  const living = ({ body }) => {
    stored.push(JSON.parse(body).rows[0]);
    return { stored: true };
  };
  const answers = [dying, living, living];
  const { says } = observer(answers);
  says("observed", { rows: [1] });
  says("observed", { rows: [2] });

  await until(() => answers.length === 0);
  assert.deepEqual(stored, [1, 1, 2]);
});

test("P7: an orphan keeps quiet, and says once in its page that it has to be reloaded", async () => {
  const answers = { shift: () => () => ({ stored: true }) };
  const { told, says, shown, look, looks, orphan } = observer(answers);
  look();
  assert.deepEqual(shown, [], "the extension is there");
  orphan();
  look();
  look();
  assert.deepEqual(shown, ["noticeOrphan"]);
  assert.equal(looks.size, 0);
  says("observed", { rows: [1] });
  says("troubles", { troubles: ["page_dead"] });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(told, []);
});

test("P7: what an orphan could not tell before it became one, it does not try again", async (t) => {
  const { told, says, orphan, end } = observer({ shift: () => died });
  t.after(end);
  says("observed", { rows: [1] });
  says("troubles", { troubles: ["page_dead"] });
  says("told", { ledger: "cards", entries: [] });
  await until(() => told.length > 6);
  orphan();
  const before = told.length;
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(told.length, before);
});

test("P1 to P4: only the newest word of what is wrong is told, until somebody knows it", async () => {
  const words = [];
  let isKnown = false;
  const answers = {
    shift:
      () =>
      ({ type, body }) => {
        assert.equal(type, "page.troubles");
        words.push(JSON.parse(body).troubles.join());
        return { known: isKnown };
      },
  };
  const { says } = observer(answers);
  says("troubles", { troubles: ["login_lost"] });
  await until(() => words.length > 1);
  says("troubles", { troubles: [] });
  isKnown = true;
  await until(() => words.at(-1) === "");
  const said = words.length;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(words.length, said);
});
