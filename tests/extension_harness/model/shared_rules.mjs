// The extension's own pure rules, for whoever holds others against them: cases in, one JSON
// array on stdin, results out.

import { readFrame, packBatch } from "../../../extension_harness/extension/shared/frames.js";
import {
  canonicalJson,
  digestOf,
  readObservation,
} from "../../../extension_harness/extension/shared/normal-form.js";
import { nextPosition } from "../../../extension_harness/extension/shared/paging.js";
import { redact } from "../../../extension_harness/extension/shared/redaction.js";
import { afterClose } from "../../../extension_harness/extension/shared/backoff.js";
import { markOf } from "../../../extension_harness/extension/shared/credentials.js";
import { settingsFrom } from "../../../extension_harness/extension/shared/settings.js";

const RULES = {
  canonical: ([value]) => canonicalJson(value),
  digest: ([value]) => digestOf(value),
  redact: ([value]) => redact(value),
  observation: ([value, asked]) => readObservation(value, asked),
  position: ([asked, page, bounds]) => nextPosition(asked, page, bounds),
  frame: ([text]) => readFrame(text),
  pack: ([entries, envelope, bytes]) => {
    const { frame, parts, tooLarge } = packBatch(entries, envelope, bytes);
    return { frame: frame === "" ? null : JSON.parse(frame), parts, tooLarge };
  },
  close: ([code, attempt, bounds, chance]) =>
    afterClose(code, attempt, bounds, () => chance),
  mark: ([endpoint, bindingToken]) => markOf({ endpoint, bindingToken }),
  settings: ([stored]) => settingsFrom(stored),
};

let text = "";
for await (const chunk of process.stdin) text += chunk;
const results = [];
for (const [rule, given] of JSON.parse(text)) {
  results.push((await RULES[rule](given)) ?? null);
}
process.stdout.write(JSON.stringify(results));
