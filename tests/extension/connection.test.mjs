import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Connection } from "../../extension_harness/extension/background/connection.js";
import { DISPLACED_REST_MS } from "../../extension_harness/extension/shared/backoff.js";
import { settingsFrom } from "../../extension_harness/extension/shared/settings.js";
import { ManualClock } from "./support/manual-clock.mjs";
import { ScriptedSocket, welcome } from "./support/scripted-socket.mjs";

// Older Node has no WebSocket; of it the connection reads this constant alone.
globalThis.WebSocket ??= class {
  static OPEN = 1;
};

let clock;
let told;
let configuration;
let connection;

beforeEach(() => {
  ScriptedSocket.all = [];
  clock = new ManualClock();
  told = [];
  configuration = {
    endpoint: "ws://bright.test/v1/extension",
    bindingToken: "secret",
    deviceId: "device",
    settings: settingsFrom({}),
    lastStoreId: null,
  };
  connection = new Connection({
    configuration: () => configuration,
    openSocket: (url, protocol) => new ScriptedSocket(url, protocol),
    clock,
    random: () => 0.5,
    identity: { bootId: "boot-id-1", extensionVersion: "1", storeVersion: 10 },
    events: {
      online: () => told.push("online"),
      frame: (frame) => told.push(frame.type),
      offline: () => told.push("offline"),
      stopped: (stop) => told.push(stop),
      changed: () => {},
    },
  });
});

const last = () => ScriptedSocket.all.at(-1);

function online(changes) {
  connection.want(true);
  last().opens();
  last().says(welcome(changes));
}

test("OT-60: the first frame is hello, and the token is in no address", () => {
  connection.want(true);
  last().opens();
  const [hello] = last().sent;
  assert.equal(hello.type, "hello");
  assert.equal(hello.bindingToken, "secret");
  assert.equal("lastStoreId" in hello, false);
  assert.equal(last().url.includes("secret"), false);
  assert.equal(last().protocol, "bright.extension.v1");
});

test("OT-60: without address or token there is no connection", () => {
  for (const change of [{ endpoint: null }, { bindingToken: "" }]) {
    configuration = { ...configuration, ...change };
    connection.want(true);
    assert.equal(connection.state, "unconfigured");
  }
  assert.equal(ScriptedSocket.all.length, 0);
});

test("nothing is sent before welcome, and everything after it", () => {
  connection.want(true);
  last().opens();
  assert.equal(connection.send({ type: "x" }), false);
  last().says(welcome());
  assert.equal(connection.state, "online");
  assert.equal(connection.send({ type: "x" }), true);
  assert.deepEqual(told, ["online"]);
});

test("a server that accepts and does not welcome is given up in time", () => {
  connection.want(true);
  last().opens();
  clock.pass(configuration.settings.openTimeoutMs);
  assert.equal(connection.state, "waiting");
  assert.equal(connection.trouble.code, "no_welcome");
});

test("OT-61: heartbeats go out at the server's interval", () => {
  online();
  for (let beat = 0; beat < 3; beat += 1) {
    clock.pass(15_000);
    last().says({ type: "keepalive", serverTimeMs: 1 });
  }
  const beats = last().sent.filter((frame) => frame.type === "heartbeat");
  assert.equal(beats.length, 3);
  assert.equal(beats[0].authorizationVersion, 1);
});

test("a connection that falls silent is abandoned and opened anew", () => {
  online();
  clock.pass(15_000 * 2.5 + 15_000 / 2);
  assert.deepEqual(told, ["online", "offline"]);
  assert.equal(connection.trouble.code, "half_open");
  clock.pass(connection.retryAtMs - clock.now());
  assert.equal(ScriptedSocket.all.length, 2);
});

test("frames of an abandoned socket change nothing", () => {
  online();
  const old = last();
  const handler = old.onmessage;
  connection.abandon("ack_timeout", "");
  handler({ data: JSON.stringify({ type: "keepalive" }) });
  assert.deepEqual(told, ["online", "offline"]);
});

test("OT-60: another authorization version means greeting again", () => {
  online();
  last().says({
    type: "heartbeat.ack",
    requestId: "r",
    authorizationVersion: 2,
  });
  assert.equal(connection.state, "waiting");
  assert.equal(connection.trouble.code, "authorization_changed");
});

test("44xx stops until the configuration changes, also when poked", () => {
  online();
  last().isClosed(4401, "revoked");
  assert.equal(connection.state, "stopped");
  const { of: mark, ...stop } = told.at(-1);
  assert.equal(typeof mark, "string");
  assert.deepEqual(stop, {
    closeCode: 4401,
    reason: "revoked",
    code: "binding_unknown",
    atMs: clock.now(),
  });
  clock.pass(1e9);
  connection.poke();
  connection.want(true);
  assert.equal(ScriptedSocket.all.length, 1);
  connection.reconfigure(null);
  assert.equal(ScriptedSocket.all.length, 2);
});

test("OT-60: whether a binding was revoked or never known is carried into the stop", () => {
  online();
  last().says({ type: "binding.revoked", reason: "revoked" });
  last().isClosed(4401, "binding: revoked");
  assert.equal(connection.stop.code, "binding_revoked");
  connection.reconfigure(null);
  last().opens();
  last().isClosed(4401, "binding missing, unknown or revoked");
  assert.equal(connection.stop.code, "binding_unknown");
});

test("OT-60: a changed version is no end; it is greeted anew, later each time", () => {
  connection.want(true);
  const waits = [];
  for (let time = 0; time < 6; time += 1) {
    last().opens();
    last().says(welcome());
    last().says({ type: "binding.revoked", reason: "version_changed" });
    last().isClosed(4401, "binding: version_changed");
    assert.equal(connection.state, "waiting");
    assert.equal(connection.trouble.code, "authorization_changed");
    waits.push(connection.retryAtMs - clock.now());
    clock.pass(waits.at(-1));
  }
  assert.deepEqual(waits, [250, 500, 1_000, 2_000, 4_000, 8_000]);
  assert.equal(
    told.some((each) => typeof each === "object"),
    false,
  );
  // One heartbeat that is answered: it holds, and the next change is the first again.
  last().opens();
  last().says(welcome());
  last().says({
    type: "heartbeat.ack",
    requestId: "r",
    authorizationVersion: 1,
  });
  last().says({ type: "binding.revoked", reason: "version_changed" });
  last().isClosed(4401);
  assert.equal(connection.retryAtMs - clock.now(), 250);
});

test("OT-60: what is said is why the last connection ended, not the one before", () => {
  connection.want(true);
  last().isClosed(1006);
  clock.pass(connection.retryAtMs - clock.now());
  last().opens();
  last().isClosed(4503, "the authorization service does not answer");
  assert.equal(connection.state, "waiting");
  assert.equal(connection.trouble.code, "closed_4503");
});

test("OT-60: a stop is of the token that it was said of, and holds no other", () => {
  online();
  last().isClosed(4401, "revoked");
  const stop = told.at(-1);
  assert.equal(JSON.stringify(stop).includes("secret"), false);
  connection.reconfigure(stop);
  assert.equal(connection.state, "stopped");

  for (const change of [
    { bindingToken: "another" },
    { bindingToken: "secret", endpoint: "ws://other.test/v1/extension" },
  ]) {
    configuration = { ...configuration, ...change };
    connection.reconfigure(stop);
    assert.equal(connection.state, "connecting");
  }
  const { of: _, ...older } = stop;
  connection.reconfigure(older);
  assert.equal(connection.state, "stopped");
});

test("a displaced connection does not fight, and does not wait for ever", () => {
  online();
  last().isClosed(4409, "displaced");
  const stop = told.at(-1);
  clock.pass(DISPLACED_REST_MS - 1);
  connection.poke();
  connection.reconfigure(stop);
  assert.equal(connection.state, "stopped");
  clock.pass(1);
  connection.poke();
  assert.equal(connection.state, "connecting");
  assert.equal(connection.stop, null);
});

test("every other close brings it back, a normal one and a late greeting included", () => {
  for (const code of [1000, 1001, 1006, 1012, 1013, 4408, 4503]) {
    online();
    const before = ScriptedSocket.all.length;
    last().isClosed(code);
    assert.equal(connection.state, "waiting", String(code));
    clock.pass(connection.retryAtMs - clock.now());
    assert.equal(ScriptedSocket.all.length, before + 1, String(code));
    connection.want(false);
  }
});

test("a poke before the wait is over opens nothing", () => {
  online();
  last().isClosed(1012);
  connection.poke();
  assert.equal(ScriptedSocket.all.length, 1);
});

test("no longer wanted it closes with 1000, leaves no timer and stays away", () => {
  online();
  connection.want(false);
  assert.equal(last().closedWith, 1000);
  assert.equal(connection.state, "off");
  assert.equal(clock.pending, 0);
});

test("request ids never repeat and say which worker asked", () => {
  const ids = new Set(
    Array.from({ length: 50 }, () => connection.nextRequestId()),
  );
  assert.equal(ids.size, 50);
  for (const id of ids) assert.ok(id.startsWith("boot-id-") && id.length <= 64);
});
