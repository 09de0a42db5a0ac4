import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Faults } from "../../extension_harness/extension/background/faults.js";

const FOREIGN = {
  code: "out_of_scope",
  message: "said by Bright",
  channelAccountId: null,
};

let faults;

beforeEach(() => {
  faults = new Faults(() => 7);
});

test("an account out of scope is named by the page that is open", () => {
  faults.refused(FOREIGN, ["2"]);

  const { code, account, atMs } = faults.last;
  assert.deepEqual([code, account, atMs], ["out_of_scope", "2", 7]);
});

test("what Bright said is over with another configuration", () => {
  faults.refused(FOREIGN, ["2"]);
  faults.reconfigured();

  assert.equal(faults.last, null);
});

test("an account out of scope is shown until Bright welcomes it", () => {
  faults.refused(FOREIGN, ["2"]);
  faults.welcomed(["1"]);
  assert.equal(faults.last.account, "2");

  faults.welcomed(["1", "2"]);
  assert.equal(faults.last, null);
});

test("a fault of this side outlives configuration and welcome", () => {
  faults.refused(FOREIGN, ["2"]);
  faults.add({ code: "store_full", message: "no room" });
  faults.reconfigured();
  faults.welcomed(["2"]);

  assert.equal(faults.last.code, "store_full");
});

test("a full disk that kept the store closed is over once that is open", () => {
  faults.hold({ code: "store_full", message: "not opened" });
  faults.add({ code: "store_full", message: "not opened" }); // by who needed the store
  assert.equal(faults.last.message, "not opened");

  faults.release();
  assert.equal(faults.last, null);

  faults.add({ code: "store_full", message: "not written" });
  assert.equal(faults.last.message, "not written");
});
