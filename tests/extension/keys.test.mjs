import assert from "node:assert/strict";
import { test } from "node:test";

import * as keys from "../../extension_harness/extension/shared/keys.js";

test("OT-01: ids that touch make different keys", () => {
  assert.notEqual(
    keys.messageKey("1", "2-3", "4"),
    keys.messageKey("1", "2", "3-4"),
  );
  assert.notEqual(
    keys.messageKey('a","b', "c", "d"),
    keys.messageKey("a", 'b","c', "d"),
  );
});

test("OT-01, OT-02: what two accounts call alike has a key of each", () => {
  const { candidateKey, cardKey, conversationKey, messageKey } = keys;
  for (const make of [candidateKey, cardKey, conversationKey, messageKey]) {
    assert.notEqual(make("1", "c", "5", "m"), make("2", "c", "5", "m"));
    assert.notEqual(make("1", "c", "5", "m"), make("1", "d", "5", "m"));
  }
});

test("OT-42: the text order of candidate keys is the order of sending", () => {
  const make = (time, id) => keys.candidateKey("1", "c", time, id);
  const wanted = [
    make(999, "b"),
    make(1_000, "a"),
    make(1_000, "b"),
    make(1e12, "a"),
  ];
  assert.deepEqual([...wanted].reverse().sort(), wanted);
  assert.deepEqual([...wanted].reverse().sort(keys.candidateOrder), wanted);
});

test("a candidate key says what it was made of, and nothing else is one", () => {
  const key = keys.candidateKey("1", 'c"[]', 1_760_000_000_000, "m");
  assert.deepEqual(keys.readCandidateKey(key), {
    channelAccountId: "1",
    conversationId: 'c"[]',
    sentAtMs: 1_760_000_000_000,
    messageId: "m",
  });
  for (const other of [undefined, 7, "", "{", "[1,2,3,4]", '["a","b","c"]']) {
    assert.equal(keys.readCandidateKey(other), null);
  }
});

test("the span of a conversation holds its keys and no neighbour's", () => {
  const { first, last } = keys.candidateKeySpan("1", "c");
  const inside = keys.candidateKey("1", "c", 5, "m");
  assert.ok(first < inside && inside < last);
  for (const neighbour of ["b", "c1", "d", 'c"']) {
    const key = keys.candidateKey("1", neighbour, 5, "m");
    assert.ok(key < first || key > last, neighbour);
  }
});
