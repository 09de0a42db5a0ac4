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
  const document = { getElementById: () => null, documentElement: null };
  vm.runInNewContext(readFileSync(SOURCE, "utf8"), {
    window,
    document,
    chrome,
    crypto,
    CustomEvent: class {},
    setTimeout: (callback) => setImmediate(callback),
    setInterval: () => 0,
    clearInterval: () => {},
  });
  const says = (kind, body) =>
    listeners["bright:from-page"]({ detail: JSON.stringify({ kind, body }) });
  return { told, says };
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
