// A page whose account changes under it, without being opened anew.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pageWorld, plain } from "./support/page-world.mjs";

const SELLER = "2500000000001";
const CID = `${SELLER}-3500000000002#11011@icbu`;

test("P8: a page that changes its account takes nothing of the other one with it", async () => {
  const other = "2500000000009";
  const theirs = CID.replace(SELLER, other);
  const { bright: world, window } = pageWorld();
  const { conversationLists } = world.adapters;
  const listed = async () =>
    (await conversationLists.read(1_000)).conversations.map(
      ({ conversationId }) => conversationId,
    );
  conversationLists.take([{ cid: CID, selfAliId: SELLER }]);
  assert.deepEqual(plain(await listed()), [CID]);

  window.aliId = other;
  conversationLists.take([{ cid: theirs, selfAliId: other }]);
  assert.deepEqual(plain(await listed()), [theirs]);
  assert.equal(world.messages.isOwn(SELLER), false);

  const reading = listed();
  window.aliId = SELLER;
  await assert.rejects(reading, { code: "account_changed" });
});
