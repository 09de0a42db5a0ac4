import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const EXTENSION = new URL(
  "../../extension_harness/extension/",
  import.meta.url,
);
const read = (name) => readFileSync(new URL(name, EXTENSION), "utf8");
const manifest = JSON.parse(read("manifest.json"));
const scripts = readdirSync(EXTENSION, { recursive: true }).filter((name) =>
  name.endsWith(".js"),
);
const english = JSON.parse(read("_locales/en/messages.json"));
const chinese = JSON.parse(read("_locales/zh_CN/messages.json"));

test("every file that the manifest names exists", () => {
  const named = [
    manifest.background.service_worker,
    manifest.action.default_popup,
    manifest.options_ui.page,
    ...Object.values(manifest.icons),
    ...Object.values(manifest.action.default_icon),
    ...manifest.content_scripts.flatMap((each) => each.js),
  ];
  for (const name of named)
    assert.ok(existsSync(new URL(name, EXTENSION)), name);
});

test("every script of the page is in the manifest", () => {
  const named = manifest.content_scripts.flatMap((each) => each.js);
  const inFolder = scripts.filter((name) => /^(page|content)\//.test(name));
  assert.deepEqual([...named].sort(), inFolder.sort());
});

test("the extension asks for no more than it needs", () => {
  assert.deepEqual(manifest.permissions, [
    "storage",
    "unlimitedStorage",
    "alarms",
  ]);
  assert.deepEqual(manifest.host_permissions, [
    "https://onetalk.alibaba.com/*",
  ]);
  assert.equal(manifest.minimum_chrome_version, "120");
  assert.equal(typeof manifest.key, "string");
});

test("only the one door and the observer say chrome.*", () => {
  const doors = scripts.filter((name) =>
    /\bchrome\.[a-z]+/.test(read(name).replace(/\/\/.*|\*.*/g, "")),
  );
  assert.deepEqual(doors.sort(), ["content/observer.js", "shared/browser.js"]);
});

test("both languages have the same texts with the same places", () => {
  assert.deepEqual(Object.keys(chinese).sort(), Object.keys(english).sort());
  for (const [name, { message, placeholders }] of Object.entries(chinese)) {
    assert.deepEqual(placeholders, english[name].placeholders, name);
    for (const place of Object.keys(placeholders ?? {})) {
      assert.ok(message.includes(`$${place.toUpperCase()}$`), name);
    }
  }
});

test("every text that a page or the observer names exists", () => {
  const named = new Set();
  for (const name of [...scripts, "pages/popup.html", "pages/options.html"]) {
    const source = read(name);
    for (const [, text] of source.matchAll(/data-text="(\w+)"/g))
      named.add(text);
    for (const [, text] of source.matchAll(/translated\("(\w+)"/g))
      named.add(text);
    for (const [, text] of source.matchAll(/"(notice\w+)"/g)) named.add(text);
  }
  assert.ok(named.size > 20);
  for (const text of named) assert.ok(Object.hasOwn(english, text), text);
});

test("an account out of scope has words of its own, which name it", () => {
  for (const texts of [english, chinese]) {
    assert.match(texts.error_out_of_scope.message, /\$ACCOUNT\$/);
  }
});

test("P1 to P15: every trouble of a page has the words that the documentation promises", () => {
  const page = readFileSync(
    new URL("../../docs/page-trouble.md", import.meta.url),
    "utf8",
  );
  const promised = new Map(
    Array.from(page.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm), (row) =>
      row.slice(1),
    ),
  );
  const named = Object.keys(english)
    .filter((name) => /^trouble_(?!other)/.test(name))
    .map((name) => name.replace("trouble_", ""));
  assert.deepEqual(named.sort(), [...promised.keys()].sort());
  for (const [trouble, words] of promised) {
    assert.equal(english[`trouble_${trouble}`].message, words);
  }
});

test("every setting is in the documentation", async () => {
  const { DEFAULTS } =
    await import("../../extension_harness/extension/shared/settings.js");
  const documented = readFileSync(
    new URL("../../docs/extension.md", import.meta.url),
    "utf8",
  );
  for (const name of Object.keys(DEFAULTS)) {
    assert.ok(documented.includes(`\`${name}\``), name);
  }
});
