// The parts that carry out Bright's commands, put together.

import { readSession, writeSession } from "../shared/browser.js";
import { Commands } from "./commands.js";
import { isSendingAllowed } from "./configuration.js";
import { Pace } from "./pace.js";
import { Sending } from "./sending.js";

/**
 * @param {Omit<ConstructorParameters<typeof Commands>[0], "sending">} parts
 * @returns {Commands}
 */
export function commanding(parts) {
  const { clock, database, pages, settings, sync } = parts;
  const pace = new Pace({
    now: clock.now,
    settings,
    read: readSession,
    write: writeSession,
  });
  const sending = new Sending({
    database,
    pages,
    clock,
    settings,
    pace,
    isAllowed: isSendingAllowed,
    attempted: (account) => sync.wake(account),
  });
  return new Commands({ ...parts, sending });
}
