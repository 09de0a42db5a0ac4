import assert from "node:assert/strict";
import { test } from "node:test";

import {
  DEFAULTS,
  extensionEndpoint,
  settingsFrom,
} from "../../extension_harness/extension/shared/settings.js";

test("an address in any usual form names the same endpoint", () => {
  for (const typed of [
    "localhost:8765",
    "http://localhost:8765",
    "ws://localhost:8765/",
    " ws://localhost:8765/v1/extension ",
  ]) {
    assert.equal(extensionEndpoint(typed), "ws://localhost:8765/v1/extension");
  }
  assert.equal(
    extensionEndpoint("https://bright.example/team"),
    "wss://bright.example/team/v1/extension",
  );
});

test("an address that could carry a secret or leads elsewhere is refused", () => {
  for (const typed of [
    "wss://user:pass@bright.example",
    "wss://bright.example/?token=x",
    "wss://bright.example/#x",
    "ftp://bright.example",
    "wss://",
    "",
  ]) {
    assert.throws(() => extensionEndpoint(typed), { name: "SettingsError" });
  }
});

test("stored settings override of their own type alone, and are never negative", () => {
  const settings = settingsFrom({
    historyPaceMs: 0,
    ackTimeoutMs: "soon",
    maxBatchMessages: -1,
    openTimeoutMs: Infinity,
    backoffCapMs: 9e9,
    unheardOf: 1,
  });
  assert.equal(settings.historyPaceMs, 0);
  assert.equal(settings.ackTimeoutMs, DEFAULTS.ackTimeoutMs);
  assert.equal(settings.maxBatchMessages, DEFAULTS.maxBatchMessages);
  assert.equal(settings.openTimeoutMs, DEFAULTS.openTimeoutMs);
  assert.equal(settings.backoffCapMs, DEFAULTS.backoffCapMs);
  assert.equal("unheardOf" in settings, false);
  assert.deepEqual(settingsFrom(null), { ...DEFAULTS });
});
