// What the worker does about what happens to its store: says it where the popup looks, and
// goes on when the store is there again.

import { describeError } from "../shared/errors.js";

/**
 * @param {object} parts
 * @param {import("./faults.js").Faults} parts.faults
 * @param {() => void} parts.changed what is to be shown is another
 * @param {() => void} parts.relist every page's list has to be read anew
 * @param {() => void} parts.resume what could not be done without the store can be now
 * @returns {(event: import("../store/database.js").StoreEvent) => void}
 */
export function storeListener({ faults, changed, relist, resume }) {
  return (event) => {
    if (event.kind === "opened") {
      if (faults.release()) resume();
    } else if (event.kind === "closed") {
      // What was closed may have been cleared: only the pages know what was in it.
      if (event.why !== "newer") relist();
      if (event.why === "terminated") {
        faults.add({
          code: "store_terminated",
          message:
            "The browser closed the message store; it is opened again when needed.",
        });
      }
    } else {
      faults.hold(describeError(event.error));
    }
    changed();
  };
}
