import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { recordProfiles } from "../../extension_harness/extension/background/profiles.js";
import { digestOf } from "../../extension_harness/extension/shared/normal-form.js";
import { PROFILES } from "../../extension_harness/extension/store/steps.js";
import { MemoryStore } from "./support/memory-store.mjs";
import { pageWorld, plain } from "./support/page-world.mjs";

const SELLER = "2500000000001";
const SUB_ACCOUNT = "2500000000777";
const BUYER = "3500000000002";
const CID = `${SELLER}-${BUYER}#11011@icbu`;
const CONTACT = {
  name: "Ines &amp; Co",
  companyName: "Casa Verde",
  loginId: "br123",
  loginIdEncrypt: "MC1IDX1a",
  accountId: 244000001,
  accountIdEncrypt: "MC1IDX1b",
  aliId: BUYER,
  aliIdEncrypt: "MC1IDX1c",
  chatToken: "WTB0PQ==",
  fullPortrait: "//sc04.alicdn.com/kf/p.svg?sign=abc",
  complianceCountryCode: "br",
  userNewLevel: "L2",
  userNewLevelIcon: "//sc04.alicdn.com/kf/badge-L2.svg",
  memberId: "220000001",
};
const PROFILE = {
  name: "Ines & Co",
  companyName: "Casa Verde",
  loginId: "br123",
  country: "BR",
  level: "L2",
  portrait: "https://sc04.alicdn.com/kf/p.svg",
};

/** What the lists say after they took these rows, as a whole list does. */
async function listed(...rows) {
  const { bright, window } = pageWorld({ aliId: SELLER });
  window.fetch = async () => new Response("{}");
  window.__conversationListFullData__ = rows;
  const { conversations } = await bright.adapters.conversationLists.read(1_000);
  return plain(conversations);
}

/** The profile of the one conversation of these rows. */
async function contactOf(...rows) {
  const [{ contact }] = await listed(...rows);
  return contact;
}

test("a profile is the known fields, cleaned, and nothing secret (OT-80)", async () => {
  const contact = await contactOf({ cid: CID, contact: CONTACT });
  assert.deepEqual(contact, { aliId: BUYER, profile: PROFILE });
});

test("M33: placeholders are nothing, in whatever spelling; names are not judged so", async () => {
  const nothing = [
    "NA",
    "n/a",
    "none",
    "-",
    "  ",
    "No company name",
    "All companies",
    "Pas d&#39;entreprise",
    "null",
    7,
    null,
  ];
  for (const companyName of nothing) {
    const contact = { ...CONTACT, companyName, name: "Na" };
    const { profile } = await contactOf({ cid: CID, contact });
    assert.equal(profile.companyName, undefined, String(companyName));
    assert.equal(profile.name, "Na");
  }
});

test("what is no text, no country, no level, no address is left out; the rest is bounded", async () => {
  const { profile } = await contactOf({
    cid: CID,
    contact: {
      aliId: BUYER,
      name: "x".repeat(5_000),
      loginId: {},
      country: "Brazil",
      userNewLevel: "<b>",
      fullPortrait: "javascript:alert(1)",
    },
  });
  assert.deepEqual(profile, { name: "x".repeat(200) });
});

test("OT-86: the signed-in user, a sub-account too, is nobody's contact", async () => {
  for (const aliId of [SELLER, SUB_ACCOUNT]) {
    const row = {
      cid: CID,
      selfAliId: SUB_ACCOUNT,
      contact: { ...CONTACT, aliId },
    };
    assert.equal(await contactOf(row), undefined);
  }
  const { aliId: _, ...nobody } = CONTACT;
  assert.equal(await contactOf({ cid: CID, contact: nobody }), undefined);
});

test("a list that knows less changes nothing that another knows (M32)", async () => {
  const poor = { cid: CID, contactAliId: BUYER, contactNick: "Old name" };
  const rich = { cid: CID, contact: CONTACT };
  for (const rows of [
    [poor, rich],
    [rich, poor],
  ]) {
    assert.deepEqual((await contactOf(...rows)).profile, PROFILE);
  }
  assert.deepEqual((await contactOf(poor)).profile, { name: "Old name" });
});

let store;

beforeEach(() => {
  store = new MemoryStore();
});

test("OT-81: the fingerprint is of what is said, not of how or when", async () => {
  const row = {
    conversationId: CID,
    contact: { aliId: BUYER, profile: PROFILE },
  };
  const backwards = Object.fromEntries(Object.entries(PROFILE).reverse());
  await recordProfiles(store, SELLER, [row], 10);
  await recordProfiles(
    store,
    SELLER,
    [{ ...row, contact: { aliId: BUYER, profile: backwards } }],
    11,
  );

  const [record, ...others] = store.all(PROFILES);
  assert.equal(others.length, 0);
  assert.deepEqual(record.pending, {
    aliId: BUYER,
    profile: PROFILE,
    fingerprint: await digestOf({ profile: PROFILE, aliId: BUYER }),
    observedAtMs: 11,
  });
});

test("the page's word is not taken for it: unknown fields and secrets stay out", async () => {
  const profile = {
    ...PROFILE,
    name: "Ines chatToken=abc",
    chatToken: "abc",
    level: 7,
    loginId: "x".repeat(9_000),
  };
  const rows = [
    { conversationId: CID, contact: { aliId: BUYER, profile } },
    { conversationId: "own", contact: { aliId: SELLER, profile } },
    { conversationId: "idless", contact: { aliId: "", profile } },
    { conversationId: "empty", contact: { aliId: BUYER, profile: {} } },
    { conversationId: "nothing" },
  ];
  await recordProfiles(store, SELLER, rows, 10);

  const kept = store.all(PROFILES);
  assert.deepEqual(
    kept.map((each) => each.conversationId),
    [CID],
  );
  const { name, loginId, ...rest } = kept[0].pending.profile;
  assert.equal(name, "Ines chatToken=[redacted]");
  assert.equal(loginId.length, 500);
  assert.deepEqual(Object.keys(rest).sort(), [
    "companyName",
    "country",
    "portrait",
  ]);
});

test("OT-87: a failure is a diagnostic of its own, unless the whole store is full", async () => {
  const rows = [
    { conversationId: CID, contact: { aliId: BUYER, profile: PROFILE } },
  ];
  const failing = (error) => ({ write: () => Promise.reject(error) });
  await assert.rejects(
    recordProfiles(failing(new Error("no")), SELLER, rows, 1),
    {
      code: "profiles_not_recorded",
    },
  );
  const { StoreError } =
    await import("../../extension_harness/extension/shared/errors.js");
  for (const [code, told] of [
    ["store_full", "store_full"],
    ["index_missing", "profiles_not_recorded"],
  ]) {
    await assert.rejects(
      recordProfiles(failing(new StoreError(code, "")), SELLER, rows, 1),
      { code: told },
    );
  }
});
