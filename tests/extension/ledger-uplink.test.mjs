import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { MAX_ATTEMPTS } from "../../extension_harness/extension/background/ledger-uplink.js";
import { observeProfiles } from "../../extension_harness/extension/store/profiles.js";
import { reofferLedgers } from "../../extension_harness/extension/store/ledger-reoffers.js";
import { PROFILES } from "../../extension_harness/extension/store/steps.js";
import {
  ACCOUNT,
  LedgerRig,
  NOW,
  chat,
  errorOf,
} from "./support/ledger-rig.mjs";

let clock;
let connection;
let database;
let rig;
let sent;
let uplink;

beforeEach(() => {
  rig = new LedgerRig();
  ({ clock, connection, database, sent, uplink } = rig);
});

function ackOf({ requestId, channelAccountId, profiles }, count = Infinity) {
  const acks = profiles.slice(0, count);
  return {
    type: "contact.profile.ack",
    requestId,
    channelAccountId,
    acks,
    rejected: [],
  };
}

test("OT-82: what is pending is told from the store, a bounded batch, one at a time", async () => {
  await rig.profiles(25);
  uplink.start();
  await rig.turns();
  assert.deepEqual(
    sent.map((frame) => [frame.type, frame.profiles.length]),
    [["contact.profile.observed", 10]],
  );
  assert.deepEqual(sent[0].profiles[0], {
    conversationId: chat(2),
    fingerprint: "of Ines",
    observedAtMs: 10,
    aliId: "2",
    profile: { name: "Ines" },
  });
  for (const [index, left] of [15, 5, 0].entries()) {
    await uplink.acknowledge(ackOf(sent[index]));
    await rig.turns();
    assert.equal(rig.pendings().length, left);
  }
  assert.equal(sent.length, 3);
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
  assert.ok(rig.idle > 0);
});

test("OT-82: a new connection tells it again; the unanswered one is forgotten", async () => {
  await rig.profiles(2);
  uplink.start();
  await rig.turns();
  uplink.halt();
  assert.equal(clock.pending, 0);
  uplink.start();
  await rig.turns();
  assert.deepEqual(
    sent.map((frame) => frame.profiles.length),
    [2, 2],
  );
});

test("OT-82: an unanswered request is tried a few times; a new page, or news, tries anew", async () => {
  await rig.profiles(1);
  uplink.start();
  for (let time = 0; time < 50; time += 1) {
    await rig.turns();
    clock.pass(60_000);
  }
  assert.equal(sent.length, MAX_ATTEMPTS);
  assert.equal(clock.pending, 0);
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
  uplink.observed("profiles", ACCOUNT);
  await rig.turns();
  assert.equal(sent.length, MAX_ATTEMPTS + 1);
  await rig.later();
  assert.equal(clock.pending, 0);
  uplink.retry(ACCOUNT);
  await rig.turns();
  await rig.later();
  await rig.later();
  assert.ok(sent.length > MAX_ATTEMPTS + 2);
});

test("OT-83: a late ACK of an older one leaves the newer pending, and it goes", async () => {
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  await rig.profiles(1, { at: 20, name: "Olga" });
  await uplink.acknowledge(ackOf(sent[0]));
  assert.deepEqual(rig.pendings(), [chat(2)]);
  await rig.later();
  assert.equal(sent[1].profiles[0].fingerprint, "of Olga");
});

test("OT-83: the same profile observed again is another observation to an ACK", async () => {
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  await rig.profiles(1, { at: 20 });
  await uplink.acknowledge(ackOf(sent[0]));
  assert.deepEqual(rig.pendings(), [chat(2)]);
});

test("OT-81: what Bright has, observed again, only moves its mark", async () => {
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  await uplink.acknowledge(ackOf(sent[0]));
  const counts = await rig.profiles(1, { at: 20 });
  assert.deepEqual(counts, { pending: 0, moved: 1, skipped: 0 });
  assert.deepEqual(rig.pendings(), []);

  const between = await rig.profiles(1, { at: 15, name: "Older" });
  assert.deepEqual(between, { pending: 0, moved: 0, skipped: 1 });
});

test("OT-83: an ACK counts although its request was given up", async () => {
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  uplink.halt();
  await uplink.acknowledge(ackOf(sent[0]));
  assert.deepEqual(rig.pendings(), []);
});

test("OT-83: what the store cannot write down is not confirmed, and goes again", async () => {
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  const { write } = database;
  database.write = () => Promise.reject(new Error("full"));
  await assert.rejects(uplink.acknowledge(ackOf(sent[0])), /full/);
  database.write = write;
  assert.deepEqual(rig.pendings(), [chat(2)]);
  await rig.later();
  assert.equal(sent.length, 2);
});

test("OT-84: exactly the request's are dropped, the newer and the others stay", async () => {
  await rig.profiles(2);
  uplink.start();
  await rig.turns();
  await rig.profiles(1, { at: 900, name: "Olga" });
  await observeProfiles(
    database,
    ACCOUNT,
    [
      {
        conversationId: chat(9),
        aliId: "9",
        profile: { name: "New" },
        fingerprint: "new",
        observedAtMs: 7,
      },
    ],
    NOW,
  );
  assert.equal(
    await uplink.refuse(errorOf(sent[0], "profile_observed_at_future")),
    true,
  );
  assert.deepEqual(rig.pendings(), [chat(2), chat(9)]);
  const dropped = database
    .all(PROFILES)
    .find((row) => row.conversationId === chat(3));
  assert.equal(dropped.rejectedObservedAtMs, 11);
});

test("OT-84: one that can never be stored is dropped, and costs no other", async () => {
  await rig.profiles(2);
  uplink.start();
  await rig.turns();
  const ack = ackOf(sent[0], 1);
  const [, refused] = sent[0].profiles;
  await uplink.acknowledge({
    ...ack,
    rejected: [{ ...refused, code: "too_large" }],
  });
  await rig.turns();
  assert.deepEqual(rig.pendings(), []);
  assert.equal(sent.length, 1);
});

test("a frame refused as a whole is halved until the one it is stands alone and goes", async () => {
  await rig.profiles(8);
  uplink.start();
  for (let time = 0; time < 40 && rig.pendings().length > 0; time += 1) {
    await rig.turns();
    const frame = sent.at(-1);
    const isBad = frame.profiles.some(
      (each) => each.conversationId === chat(6),
    );
    if (isBad) await uplink.refuse(errorOf(frame, "invalid_frame"));
    else await uplink.acknowledge(ackOf(frame));
  }
  assert.deepEqual(rig.pendings(), []);
  const uploaded = database
    .all(PROFILES)
    .filter((row) => row.lastUploadedFingerprint);
  assert.equal(uploaded.length, 7);
});

test("OT-60: what Bright takes not at all rests, and nothing of it is dropped", async () => {
  await rig.profiles(3);
  uplink.start();
  await rig.turns();
  await uplink.refuse(errorOf(sent[0], "unknown_type"));
  clock.pass(1e9);
  await rig.turns();
  assert.equal(sent.length, 1);
  assert.equal(rig.pendings().length, 3);
  assert.equal(await uplink.isUnfinished(ACCOUNT), false);
});

test("OT-60: an account that the binding does not hold tells nothing", async () => {
  await rig.profiles(2, { account: "2" });
  uplink.start();
  await rig.turns();
  assert.deepEqual(sent, []);
  assert.equal(await uplink.isUnfinished("2"), false);
});

test("a socket that is full is waited for, and a refusal to try later is heeded", async () => {
  connection.bufferedBytes = 1e9;
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  assert.deepEqual(sent, []);
  connection.bufferedBytes = 0;
  clock.pass(100);
  await rig.turns();
  assert.equal(sent.length, 1);
  await uplink.refuse(errorOf(sent[0], "overloaded", true));
  await rig.turns();
  assert.equal(sent.length, 1);
  await rig.later();
  assert.equal(sent.length, 2);
});

test("another store is told again what the last one had, and nothing newer is lost", async () => {
  await rig.profiles(2);
  uplink.start();
  await rig.turns();
  await uplink.acknowledge(ackOf(sent[0]));
  await rig.profiles(1, { at: 30, name: "Olga" });
  assert.equal(await reofferLedgers(database, ACCOUNT, null), 2);
  assert.equal(await reofferLedgers(database, ACCOUNT, chat(2)), 0);
  uplink.start();
  await rig.turns();
  assert.deepEqual(
    new Map(
      sent.at(-1).profiles.map((each) => [each.fingerprint, each.observedAtMs]),
    ),
    new Map([
      ["of Ines", 11],
      ["of Olga", 30],
    ]),
  );
});

test("OT-85: a ledger that cannot be read tells nothing, and says so", async () => {
  await rig.profiles(1);
  database.read = () => Promise.reject(new Error("unreadable"));
  uplink.start();
  await rig.turns();
  assert.deepEqual(sent, []);
  assert.match(rig.failures[0].message, /unreadable/);
});

test("OT-85: what is pending is never taken for uploaded, however often it is seen", async () => {
  await rig.profiles(1);
  uplink.start();
  await rig.turns();
  uplink.halt(); // sent, and unanswered
  const counts = await rig.profiles(1, { at: 20 });
  assert.deepEqual(counts, { pending: 1, moved: 0, skipped: 0 });
  const [record] = database.all(PROFILES);
  assert.equal(record.pending.observedAtMs, 20);
  assert.deepEqual(
    [
      record.lastUploadedFingerprint,
      record.lastUploadedAtMs,
      record.uploadedObservedAtMs,
    ],
    [null, null, 0],
  );
});
