import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Recorder } from "../../extension_harness/extension/background/recorder.js";
import {
  ANOMALIES,
  CANDIDATES,
  CHECKPOINTS,
  MESSAGES,
} from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";

const ACCOUNT = "2500000000001";
const CHAT = "2500000000001-3500000000002#11011@icbu";

let database;
let recorder;
let told;

beforeEach(() => {
  database = new MemoryStore();
  told = [];
  recorder = new Recorder(
    database,
    () => 7,
    (each) => told.push(each.added),
  );
});

const seen = (sentAtMs, changes = {}) => ({
  surface: "test",
  messageId: String(sentAtMs),
  conversationId: CHAT,
  senderId: "3500000000002",
  direction: "inbound",
  sentAtMs,
  kind: "text",
  text: "hello",
  ...changes,
});

const record = (observations, page = null) =>
  recorder.record({
    channelAccountId: ACCOUNT,
    conversationId: CHAT,
    observations,
    page,
  });

test("OT-32: what lacks a field is an anomaly, and those behind it are facts", async () => {
  await record([seen(1), seen(2, { senderId: "" }), seen(3)]);

  const ids = database.all(MESSAGES).map((each) => each.messageId);
  assert.deepEqual(ids.sort(), ["1", "3"]);
  const codes = database.all(ANOMALIES).map((each) => each.code);
  assert.deepEqual(codes, ["missing_sender_id"]);
});

test("OT-30, OT-44: the position moves with the last of a page's rows, not before", async () => {
  const rows = Array.from({ length: 501 }, (_, index) => seen(index + 1));
  const page = { askedWith: 502, nextTimeStamp: 1, historyComplete: false };
  const recorded = await record(rows, page);

  assert.deepEqual(told, [500, 1]);
  const places = recorded.map(({ checkpoint }) => [
    checkpoint.pages,
    checkpoint.nextTimeStamp,
  ]);
  assert.deepEqual(places, [
    [0, null],
    [1, 1],
  ]);
});

test("OT-31: what the store refuses is told to nobody", async () => {
  database.write = () => Promise.reject(new Error("no room"));
  await assert.rejects(record([seen(1)]), /no room/);

  assert.deepEqual(told, []);
  assert.deepEqual(database.all(CANDIDATES), []);
  assert.deepEqual(database.all(CHECKPOINTS), []);
});
