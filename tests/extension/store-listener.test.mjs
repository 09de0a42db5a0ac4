import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Faults } from "../../extension_harness/extension/background/faults.js";
import { storeListener } from "../../extension_harness/extension/background/store-listener.js";
import { StoreError } from "../../extension_harness/extension/shared/errors.js";

const BLOCKED = new StoreError("store_blocked", "Close the other window.");
const NEWER = new StoreError("store_newer", "Update the extension.");

let faults, done, tell, nowMs;

beforeEach(() => {
  nowMs = 7;
  faults = new Faults(() => nowMs);
  done = [];
  tell = storeListener({
    faults,
    changed: () => {},
    relist: () => done.push("relist"),
    resume: () => done.push("resume"),
  });
});

test("a store that is held up is said while it lasts, and then work goes on", () => {
  faults.add({ code: "page_timeout", message: "before" });
  tell({ kind: "held", error: BLOCKED });
  nowMs = 9;
  tell({ kind: "held", error: BLOCKED });
  // Whoever was refused meanwhile tells it too, also after it is over.
  faults.add(BLOCKED);
  assert.deepEqual([faults.last.code, faults.last.atMs], ["store_blocked", 7]);

  tell({ kind: "opened" });
  faults.add(BLOCKED);

  assert.equal(faults.last.code, "page_timeout");
  assert.deepEqual(done, ["resume"]);
});

test("OT-21: that the store is a newer version's stays until it is open", () => {
  tell({ kind: "closed", why: "newer" });
  tell({ kind: "failed", error: NEWER });
  faults.reconfigured();
  assert.equal(faults.last.code, "store_newer");

  tell({ kind: "opened" });
  assert.equal(faults.last, null);
  assert.deepEqual(done, ["resume"]);
});

test("known bug 27: what the browser closed is said once, and the lists are read anew", () => {
  tell({ kind: "opened" });
  tell({ kind: "closed", why: "terminated" });
  tell({ kind: "opened" });

  assert.equal(faults.last.code, "store_terminated");
  assert.deepEqual(done, ["relist"]);
});
